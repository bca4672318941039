/* The adaptive mesh of FLASH-IO: blocks of points with guard cells around them, 24 variables at each point, and the
 * tree that the blocks are leaves of. Values follow from the number of the block, so that files do not depend on the
 * ranks. */
#ifndef SWATH_FLASH_MESH_H
#define SWATH_FLASH_MESH_H

#include "ways.h"

enum { kUnknowns = 24, kPlotted = 4, kGuard = 4, kTree = 6 };

extern const char* const unknown_names[kUnknowns];
extern const int plotted[kPlotted]; /* the unknowns that plot files have */

typedef struct {
  int64_t all, first, count;            /* blocks of all ranks, and this rank's */
  int size;                             /* points of a block along each dimension, without guard cells */
  double* unknowns;                     /* [count][size + 2 guard][…][…][24] */
  int32_t *levels, *types, *neighbours; /* [count], [count], [count][15] */
  double *centres, *sizes, *bounds;     /* [count][3], [count][3], [count][3][2] */
} mesh;

mesh make_mesh(int64_t all, int size, int rank, int ranks);
void free_mesh(mesh* m);
size_t unknown_count(const mesh* m); /* numbers in memory, those of guard cells, too */
double value_at(int unknown, int64_t block, int z, int y, int x);

/* A checkpoint has the tree and all unknowns. A plot file has the tree and some unknowns as 4-byte numbers, at cell
 * centres or (`corners`) at corners: a block has one corner more than cells along each dimension. */
variables checkpoint_contents(const mesh* m);
variables plot_contents(const mesh* m, int corners);
/* This rank's blocks of variable `number` of the tree, or of a checkpoint. */
blocks blocks_of(const mesh* m, int number);
/* Puts the values of a plot file into `memory`: [count][n][n][n]. */
blocks plotted_blocks(const mesh* m, int unknown, int corners, float* memory);

#endif
