// Prepared statements that nobody uses at the moment, by their text: preparing one takes longer than most answers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "sqlite/database.h"

namespace drover {

class IdleStatements {
 public:
  /// A statement that goes back when it is let go, whatever is left of its rows. The texts are few, and the database
  /// and this outlive it.
  class Lent : public Statement {
   public:
    Lent(Statement statement, std::string sql, IdleStatements& home)
        : Statement(std::move(statement)), sql_(std::move(sql)), home_(&home) {}
    Lent(Lent&& other) noexcept
        : Statement(std::move(other)), sql_(std::move(other.sql_)), home_(std::exchange(other.home_, nullptr)) {}
    Lent& operator=(Lent&&) = delete;
    ~Lent() {
      if (home_ == nullptr) return;
      reset();
      home_->idle_.insert_or_assign(std::move(sql_), static_cast<Statement&&>(*this));
    }

   private:
    std::string sql_;
    IdleStatements* home_;
  };

  Result<Lent> lend(Database& db, std::string_view sql) {
    if (auto idle = idle_.find(sql); idle != idle_.end()) {
      Statement statement = std::move(idle->second);
      idle_.erase(idle);
      return Lent(std::move(statement), std::string(sql), *this);
    }
    auto prepared = db.prepare(sql);
    if (!prepared) return pass(prepared);
    return Lent(std::move(*prepared), std::string(sql), *this);
  }

 private:
  std::map<std::string, Statement, std::less<>> idle_;
};

}  // namespace drover
