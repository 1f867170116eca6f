// For a test: runs an item that does not end, says a byte when it has printed, and waits to be killed.
#include <poll.h>
#include <unistd.h>

#include "run/docker/docker_runner.h"

int main(int, char** arguments) {
  using namespace drover;
  Result<std::unique_ptr<DockerRunner>> runner = DockerRunner::connect(arguments[1]);
  if (!runner) return 1;
  ContainerPlan plan;
  plan.name = arguments[2];
  SlotSetup setup;
  setup.container = std::make_shared<const ContainerPlan>(plan);
  Result<std::unique_ptr<Slot>> slot = (*runner)->open_slot(setup);
  if (!slot) return 1;
  Task task;
  task.token = {GrantId(1), ItemIndex(1)};
  task.program = "sh";
  task.arguments = {"sh", "-c", "echo ready; sleep 1000"};
  (*slot)->start(task);
  while (true) {
    pollfd wait{(*slot)->descriptor(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    if (!(*slot)->events().empty() && ::write(STDOUT_FILENO, "x", 1) != 1) return 1;
  }
}
