"""Open arrays: opening and creating them, reading, writing, explaining and redistributing."""
