// The contract between core and store, over every store: after any batch, what is loaded back is what the core holds,
// and the ledger says what happened; also when the process dies at a batch boundary and goes on from the store. And the
// test can fail: a store that forgets any one kind of mutation is caught.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "core/random_commands.h"
#include "core/sanity.h"
#include "engine/stepper.h"
#include "store/manifest.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "wire/cells.h"

namespace drover {
namespace {

/// A store under test, its read side, and a folder that goes away with it.
struct Subject {
  virtual ~Subject() = default;
  virtual Store& store() = 0;
  virtual StoreReader& reader() = 0;
  /// As after a crash: what was committed is there.
  virtual void reopen() = 0;
};

struct MemorySubject : Subject {
  MemoryStore memory;
  Store& store() override { return memory; }
  StoreReader& reader() override { return memory; }
  void reopen() override {}
};

struct SqliteSubject : Subject {
  SqliteSubject() {
    char pattern[] = "/tmp/drover-contract-XXXXXX";
    folder = mkdtemp(pattern);
    open();
  }
  ~SqliteSubject() override {
    read.reset();
    written.reset();
    std::filesystem::remove_all(folder);
  }
  void open() {
    auto opened = open_sqlite_store(folder + "/drover.db");
    ASSERT_TRUE(opened) << opened.error().message;
    written = std::move(*opened);
    auto opened_reader = open_sqlite_reader(folder + "/drover.db");
    ASSERT_TRUE(opened_reader) << opened_reader.error().message;
    read = std::move(*opened_reader);
  }
  void reopen() override {
    read.reset();
    written.reset();
    open();
  }
  Store& store() override { return *written; }
  StoreReader& reader() override { return *read; }

  std::string folder;
  std::unique_ptr<Store> written;
  std::unique_ptr<StoreReader> read;
};

std::unique_ptr<Subject> make_subject(const std::string& kind) {
  if (kind == "memory") return std::make_unique<MemorySubject>();
  return std::make_unique<SqliteSubject>();
}

Result<Durable> load(Store& store) {
  Durable durable;
  auto loaded = store.load([&](const Mutation& put) { return durable.restore(put); });
  if (!loaded) return pass(loaded);
  return durable;
}

/// Loses every mutation of one kind on its way to the store.
struct Forgetful {
  std::optional<std::size_t> kind;

  Batch filter(Batch batch) const {
    if (kind) std::erase_if(batch.mutations, [&](const Mutation& it) { return it.index() == *kind; });
    return batch;
  }
};

std::optional<std::string> compare_ledger(StoreReader& reader, const Durable& durable, const LedgerModel& ledger) {
  std::size_t rows = 0;
  std::set<WorkerId> workers;
  for (const auto& [id, job] : durable.jobs) {
    std::optional<std::string> wrong;
    auto read = reader.each_attempt(id, ItemIndex{0}, [&](const Attempt& row) {
      ++rows;
      workers.insert(row.worker);
      const auto known = ledger.rows().find({{row.job, row.item}, row.attempt});
      if (known == ledger.rows().end()) {
        wrong = "the store has an attempt that never was";
        return false;
      }
      // Field by field, through the one list of fields.
      std::vector<std::string> mine;
      std::vector<std::string> theirs;
      const auto text_into = [](std::vector<std::string>& out) {
        return [&out](const char* name, const auto& field) {
          const Cell cell = to_cell(field);
          std::string text = name;
          if (const auto* number = std::get_if<std::int64_t>(&cell)) text += std::to_string(*number);
          if (const auto* content = std::get_if<std::string>(&cell)) text += *content;
          if (const auto* bytes = std::get_if<Bytes>(&cell)) text += bytes->value;
          out.push_back(text);
        };
      };
      Attempt::fields(known->second, text_into(mine));
      Attempt::fields(row, text_into(theirs));
      if (mine != theirs) wrong = "the store has another attempt than the one that was written";
      return !wrong;
    });
    EXPECT_TRUE(read);
    if (wrong) return wrong;
  }
  if (rows != ledger.rows().size()) return "attempts are missing from the store";
  for (const WorkerId worker : workers) {
    if (reader.worker_name(worker).value() != ledger.worker_names().at(worker)) return "a worker has lost its name";
  }
  std::size_t events = 0;
  bool same = true;
  EXPECT_TRUE(reader.each_event(EventId{}, [&](const Event& event) {
    same = same && events < ledger.events().size() && to_cells(event) == to_cells(ledger.events()[events]);
    ++events;
    return true;
  }));
  const EventId last = ledger.events().empty() ? EventId{} : ledger.events().back().id;
  if (reader.newest_event().value() != last) return "the store has another newest event";
  if (!same || events != ledger.events().size()) return "the store has other events than those that were written";
  return std::nullopt;
}

/// What the messages that are left say.
std::optional<std::string> compare_messages(StoreReader& reader, const Durable& durable, const LedgerModel& ledger) {
  const auto differs = [&](MessageNumber number) {
    const auto letter = ledger.dead_letters().find(number);
    const auto found = reader.dead_letter(number).value();
    const bool same_letter =
        letter == ledger.dead_letters().end() ? !found : found && to_cells(*found) == to_cells(letter->second);
    return reader.message(number).value() != ledger.contents().at(number) || !same_letter;
  };
  for (const auto& [id, messages] : durable.messages) {
    for (const auto& [number, message] : messages.open) {
      if (differs(number)) return "the store has another message than the one that was sent";
    }
    for (const auto& [first, block] : messages.blocks) {
      for (std::uint64_t offset = block.taken; offset < block.count; ++offset) {
        if (differs(MessageNumber{first.value + offset}))
          return "the store has another message that nobody has touched";
      }
    }
  }
  for (const auto& [id, stream] : durable.streams) {
    const auto found = reader.stream(stream.name).value();
    if (!found || found->id != id) return "a stream is not found by its name";
  }
  return std::nullopt;
}

/// Plays one seed; says how the store broke the contract, if it did.
std::optional<std::string> play(Subject& subject, std::uint64_t seed, int batches, const Forgetful& forgetful) {
  Random random(seed * 977);
  RandomCommands world(seed);
  LedgerModel ledger;
  Stepper stepper{Core{}};
  std::uint64_t ticket = 0;
  const bool crashes_always = seed % 20 == 0;  // at every batch boundary, not only at some
  for (int i = 0; i < batches; ++i) {
    std::map<Ticket, Command> said;
    // One batch is filled while the one before is committed; a crash in between loses the second, heard by nobody.
    const bool crash_before_commit = random.one_in(12);
    const std::uint64_t commands = 1 + random.below(5);
    for (std::uint64_t n = 0; n < commands; ++n) {
      const Command command = world.next(stepper.core(), ledger);
      said[Ticket{++ticket}] = command;
      stepper.post({Ticket{ticket}, command});
    }
    auto step = stepper.step(world.now_ms());
    if (!step) continue;
    if (!crash_before_commit) {
      auto committed = subject.store().commit(forgetful.filter(step->batch));
      if (!committed) return committed.error().message;
      ledger.take(step->batch.mutations);
      for (const Answer& answer : step->answers) {
        const auto command = said.find(answer.to);
        world.hear(answer, command == said.end() ? nullptr : &command->second);
      }
      if (random.one_in(4)) {
        if (auto swept = subject.store().sweep_deleted(1 + random.below(20)); !swept) return swept.error().message;
      }
      const auto loaded = load(subject.store());
      if (!loaded) return loaded.error().message;
      if (hash(*loaded) != hash(stepper.core().durable())) return "what is loaded is not what the core holds";
      if (auto wrong = compare_ledger(subject.reader(), stepper.core().durable(), ledger)) return wrong;
      if (auto wrong = compare_messages(subject.reader(), stepper.core().durable(), ledger)) return wrong;
    }
    if (crash_before_commit || crashes_always || random.one_in(12)) {
      subject.reopen();
      auto loaded = load(subject.store());
      if (!loaded) return loaded.error().message;
      Core core(std::move(*loaded), world.now_ms());
      world.crashed(core.durable().counters.now_ms);
      if (auto fault = find_fault(core)) return "after a crash: " + *fault;
      stepper = Stepper(std::move(core));
    }
    if (auto fault = find_fault(stepper.core())) return fault;
  }
  return std::nullopt;
}

class StoreContract : public testing::TestWithParam<std::string> {};

TEST_P(StoreContract, LoadsBackWhatTheCoreHoldsAfterEveryBatchAndCrash) {
  const char* first_text = std::getenv("DROVER_SEED");
  const char* count_text = std::getenv("DROVER_SEEDS");
  const std::uint64_t first = first_text != nullptr ? std::strtoull(first_text, nullptr, 10) : 1;
  const std::uint64_t wanted = count_text != nullptr ? std::strtoull(count_text, nullptr, 10) : 2000;
  const std::uint64_t seeds = GetParam() == "memory" ? wanted : wanted / 10;
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + seeds - 1));
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto subject = make_subject(GetParam());
    const auto broken = play(*subject, seed, 60, {});
    ASSERT_FALSE(broken) << "seed " << seed << ": " << broken.value_or("");
  }
}

TEST_P(StoreContract, AStoreThatForgetsAnyOneKindOfMutationIsCaught) {
  for (std::size_t kind = 0; kind < std::variant_size_v<Mutation>; ++kind) {
    bool caught = false;
    for (std::uint64_t seed = 1; seed <= 200 && !caught; ++seed) {
      const auto subject = make_subject(GetParam());
      // What it loads may be contradictory: restore says so, which counts as caught.
      caught = play(*subject, seed, 60, Forgetful{kind}).has_value();
    }
    EXPECT_TRUE(caught) << "mutation kind " << kind;
  }
}

TEST_P(StoreContract, KeepsDefinitionsAndManifests) {
  const auto subject = make_subject(GetParam());
  auto definition = subject->store().add_definition("{\"command\":[\"a\"]}");
  ASSERT_TRUE(definition);
  EXPECT_EQ(subject->reader().definition(*definition).value(), "{\"command\":[\"a\"]}");
  EXPECT_FALSE(subject->reader().definition(DefinitionId{77}));

  // Enough for many chunks, with items of every length.
  auto writer = ManifestWriter::begin(subject->store());
  ASSERT_TRUE(writer);
  Random random(5);
  std::vector<std::string> items;
  for (int i = 0; i < 30'000; ++i) {
    std::string item(random.one_in(5000) ? 300'000 : random.below(90), 'x');
    for (char& c : item) c = static_cast<char>(random.next());
    ASSERT_TRUE((*writer)->add(item));
    items.push_back(std::move(item));
  }
  const auto written = (*writer)->finish();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->items, items.size());
  auto reader = ManifestReader::open(subject->reader(), written->id);
  ASSERT_TRUE(reader);
  for (std::size_t i = 0; i < items.size(); ++i) ASSERT_EQ(reader->item(ItemIndex{i}).value(), items[i]) << i;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t at = random.below(items.size());
    ASSERT_EQ(reader->item(ItemIndex{at}).value(), items[at]);
  }
  EXPECT_FALSE(reader->item(ItemIndex{items.size()}));

  const auto range = write_range_manifest(subject->store(), 7, 3);
  ASSERT_TRUE(range);
  auto numbers = ManifestReader::open(subject->reader(), range->id);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->item(ItemIndex{2}).value(), "9");
  EXPECT_FALSE(numbers->item(ItemIndex{3}));
}

TEST_P(StoreContract, GivesOneJobByItsNumberAndAllWorkers) {
  const auto subject = make_subject(GetParam());
  Core core;
  for (const char* name : {"first", "second"}) {
    SubmitJob submit{{.name = name, .ask = {2500, 1 << 20}, .require = {{"zone", "a"}, {"gpu", ""}}}, 3};
    submit.uuid.bytes[0] = static_cast<std::uint8_t>(name[0]);
    core.apply(Ticket{1}, submit, 10);
    core.apply(Ticket{2}, RegisterWorker{name, 7, 60'000, Resources{8000, Resources::kEndless}, {{"zone", name}}}, 10);
  }
  ASSERT_TRUE(subject->store().commit({core.take_mutations()}));
  const auto jobs = subject->reader().jobs();
  ASSERT_TRUE(jobs && jobs->size() == 2);
  for (const Job& job : *jobs) {
    const auto read = subject->reader().job(job.id);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, job.name);
    EXPECT_EQ(read->ask, (Resources{2500, 1 << 20}));
    EXPECT_EQ(read->require, (Labels{{"zone", "a"}, {"gpu", ""}}));
  }
  EXPECT_EQ(subject->reader().job(JobId{77}).error().code, ErrorCode::not_found);
  const auto workers = subject->reader().workers();
  ASSERT_TRUE(workers && workers->size() == 2);
  EXPECT_EQ((*workers)[1].name, "second");
  EXPECT_EQ((*workers)[1].has, (Resources{8000, Resources::kEndless}));
  EXPECT_EQ((*workers)[1].labels, (Labels{{"zone", "second"}}));
}

TEST_P(StoreContract, RefusesAnItemNoCommandLineCanCarry) {
  const auto subject = make_subject(GetParam());
  auto writer = ManifestWriter::begin(subject->store());
  ASSERT_TRUE(writer);
  const auto refused = (*writer)->add(std::string(kLongestItem + 1, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::Values("memory", "sqlite"),
                         [](const auto& it) { return it.param; });

}  // namespace
}  // namespace drover
