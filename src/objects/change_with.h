// Changes of the index that bring data with them.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"
#include "objects/new_object_data.h"

namespace drover {

template <class T>
void BucketStore::change_with(std::unique_ptr<NewData> data,
                              std::move_only_function<Result<BucketResult<T>>(BucketIndex&, Data&)> make,
                              BucketAnswered<T> answered) {
  auto own = std::shared_ptr<Data>(dynamic_cast<Data*>(data.get()));
  DROVER_CHECK(own && own->is_of(*this), "what is put was finished here");
  static_cast<void>(data.release());
  change<T>([own, make = std::move(make)](BucketIndex& index) mutable { return make(index, *own); },
            [own, answered = std::move(answered)](BucketResult<T> outcome) mutable {
              if (outcome) own->become_known();
              answered(std::move(outcome));
            });
}

}  // namespace drover
