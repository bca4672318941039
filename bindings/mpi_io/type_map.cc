#include "mpi_io/type_map.h"

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/per_process.h"
#include "mpi_io/mpi_error.h"
#include "mpi_io/type_contents.h"
#include "mpi_io/type_decode.h"
#include "mpi_io/type_levels.h"

namespace swath::mpi_io {
namespace {

// The value of the datatype's attribute.
struct Kept {
  explicit Kept(std::shared_ptr<const TypeMap> type_map) : map(std::move(type_map)) {}
  Kept(const Kept& other) : map(other.map), is_committed(other.is_committed.load()) {}

  const std::shared_ptr<const TypeMap> map;
  std::atomic<bool> is_committed{false};  // never changes back
};

// MPI calls these when a type is duplicated or freed, perhaps within MPI_Finalize: they make no MPI call.
extern "C" {
int swath_mpi_io_copy_type_map(MPI_Datatype /*type*/, int /*keyval*/, void* /*extra*/, void* kept, void* copied,
                               int* is_copied) {
  auto* copy = new (std::nothrow) Kept(*static_cast<const Kept*>(kept));
  *static_cast<void**>(copied) = copy;
  *is_copied = copy != nullptr ? 1 : 0;
  return MPI_SUCCESS;
}

int swath_mpi_io_delete_type_map(MPI_Datatype /*type*/, int /*keyval*/, void* kept, void* /*extra*/) {
  delete static_cast<Kept*>(kept);
  return MPI_SUCCESS;
}
}

// A type cannot be checked through its handle alone, and MPI reports an invalid one to the program's global error
// handler, which ends the program. During the lifetime of this object, errors of local calls are returned instead, also
// those of other threads on these two communicators.
class ErrorsReturned {
 public:
  ErrorsReturned() {
    for (Saved& saved : saved_) {
      MPI_Comm_get_errhandler(saved.communicator, &saved.handler);
      MPI_Comm_set_errhandler(saved.communicator, MPI_ERRORS_RETURN);
    }
  }
  ~ErrorsReturned() {
    for (Saved& saved : saved_) {
      MPI_Comm_set_errhandler(saved.communicator, saved.handler);
      MPI_Errhandler_free(&saved.handler);
    }
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  struct Saved {
    MPI_Comm communicator;
    MPI_Errhandler handler;
  };

  // The MPI version determines which communicator's handler is called.
  Saved saved_[2] = {{MPI_COMM_WORLD, MPI_ERRHANDLER_NULL}, {MPI_COMM_SELF, MPI_ERRHANDLER_NULL}};
};

// The known types of this process. Its mutex is held around every call, so that no thread frees an attribute that
// another has just found.
class KnownTypes {
 public:
  std::shared_ptr<const TypeMap> of(MPI_Datatype type) {
    const std::lock_guard lock(mutex_);
    const auto found = predefined_.find(type);
    if (found != predefined_.end()) return found->second;
    require_mpi();
    const ErrorsReturned guard;
    auto map = known_or_decoded(type);
    require_committed(type);
    return map;
  }

 private:
  static void require_mpi() {
    int is_initialized = 0;
    int is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0) {
      throw MpiError(MPI_ERR_OTHER, "a datatype was used before MPI_Init or after MPI_Finalize");
    }
  }

  // The attribute's value, or null.
  Kept* kept(MPI_Datatype type) const {
    void* held = nullptr;
    int is_there = 0;
    check_mpi(MPI_Type_get_attr(type, keyval_, static_cast<void*>(&held), &is_there));
    return is_there != 0 ? static_cast<Kept*>(held) : nullptr;
  }

  std::shared_ptr<const TypeMap> known_or_decoded(MPI_Datatype type) {
    if (keyval_ == MPI_KEYVAL_INVALID) {
      check_mpi(MPI_Type_create_keyval(swath_mpi_io_copy_type_map, swath_mpi_io_delete_type_map, &keyval_, nullptr));
    }
    const auto found = predefined_.find(type);
    if (found != predefined_.end()) return found->second;
    if (const Kept* known = kept(type)) return known->map;
    TypeContents contents(type);
    auto map = std::make_shared<const TypeMap>(
        decode(type, contents, [this](MPI_Datatype part) { return known_or_decoded(part); }));
    if (contents.is_predefined()) {
      predefined_.emplace(type, map);
    } else {
      keep(type, map);
    }
    return map;
  }

  void keep(MPI_Datatype type, const std::shared_ptr<const TypeMap>& map) const {
    auto* kept = new Kept(map);
    const int code = MPI_Type_set_attr(type, keyval_, kept);
    if (code == MPI_SUCCESS) return;
    delete kept;
    check_mpi(code);
  }

  // MPI has no query for this: it makes a call with zero elements of the type.
  void require_committed(MPI_Datatype type) {
    Kept* known = predefined_.contains(type) ? nullptr : kept(type);
    if (known == nullptr || known->is_committed) return;
    char nothing = 0;
    int position = 0;
    check_mpi(MPI_Pack(&nothing, 0, type, &nothing, 1, &position, MPI_COMM_SELF));
    known->is_committed = true;
  }

  std::mutex mutex_;
  std::unordered_map<MPI_Datatype, std::shared_ptr<const TypeMap>> predefined_;  // they are never freed
  // Never freed by us: MPI frees it with the last type that has it, which is unknown here.
  int keyval_ = MPI_KEYVAL_INVALID;
};

// Never destroyed: programs end MPI in destructors of their own.
KnownTypes& known_types() {
  static auto& known = *new PerProcess<KnownTypes>();
  return known.get();
}

}  // namespace

bool TypeMap::is_contiguous() const { return Element{nest, extent}.is_contiguous(); }

std::shared_ptr<const TypeMap> type_map_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw MpiError(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  try {
    return known_types().of(type);
  } catch (const Error& error) {
    throw MpiError(MPI_ERR_TYPE, error.what());
  } catch (const std::bad_alloc&) {
    throw MpiError(MPI_ERR_NO_MEM, "no memory for a datatype's type map");
  }
}

Nest repeated(const TypeMap& type, int64_t count) {
  try {
    return repeated(Element{type.nest, type.extent}, count);
  } catch (const Error& error) {
    throw MpiError(MPI_ERR_COUNT, std::to_string(count) + " elements of a datatype: " + error.what());
  }
}

}  // namespace swath::mpi_io
