#include "base/bulk_data.h"

namespace swath {
namespace {

thread_local BulkDataModel* model_of_thread = nullptr;

}  // namespace

BulkDataModel* bulk_data_model() { return model_of_thread; }

void set_bulk_data_model(BulkDataModel* model) { model_of_thread = model; }

BulkBuffer::BulkBuffer(int64_t bytes) : bytes_(bytes) {
  BulkDataModel* const model = bulk_data_model();
  if (model != nullptr) data_ = model->placeholder(bytes);
  if (data_ != nullptr) return;
  owned_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  data_ = owned_.get();
}

}  // namespace swath
