/* A management library of GPUs that a test makes up. The file $FAKE_GPUS has a line for each: UUID, how busy in percent, MiB in use, watts. The file
   $FAKE_GPUS.errors has a line for each critical error, in the order in which they happen: UUID and number; "lost" instead of a number: the GPU is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, NOT_FOUND = 6, TIMEOUT = 10, GPU_IS_LOST = 15, MOST = 16, XID = 8 };
static char known[MOST][80];
static int watched[MOST];
static int told;

static int look_up(const char *uuid, unsigned *busy, unsigned *mib, unsigned *watts) {
  const char *path = getenv("FAKE_GPUS");
  FILE *file = path ? fopen(path, "r") : NULL;
  char id[80];
  int found = 0;
  while (file && !found && fscanf(file, "%79s %u %u %u", id, busy, mib, watts) == 4) found = strcmp(id, uuid) == 0;
  if (file) fclose(file);
  return found;
}

static int is_lost(const char *uuid) {
  char path[4096], id[80], what[80];
  snprintf(path, sizeof path, "%s.errors", getenv("FAKE_GPUS") ? getenv("FAKE_GPUS") : "");
  FILE *file = fopen(path, "r");
  int lost = 0;
  while (file && !lost && fscanf(file, "%79s %79s", id, what) == 2) lost = strcmp(id, uuid) == 0 && strcmp(what, "lost") == 0;
  if (file) fclose(file);
  return lost;
}

int nvmlInit_v2(void) { return getenv("FAKE_GPUS") ? SUCCESS : 9; }
const char *nvmlErrorString(int error) { return error == 9 ? "Driver Not Loaded" : "Unknown Error"; }

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  unsigned a, b, c;
  if (!look_up(uuid, &a, &b, &c)) return NOT_FOUND;
  for (int i = 0; i < MOST; ++i) {
    if (known[i][0] == 0) strncpy(known[i], uuid, sizeof known[i] - 1);
    if (strcmp(known[i], uuid) != 0) continue;
    *device = known[i];
    return SUCCESS;
  }
  return NOT_FOUND;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
  unsigned b, c;
  if (is_lost(device)) return GPU_IS_LOST;
  rates[1] = 0;
  return look_up(device, &rates[0], &b, &c) ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
  unsigned a, mib, c;
  if (is_lost(device)) return GPU_IS_LOST;
  if (!look_up(device, &a, &mib, &c)) return NOT_FOUND;
  memory[0] = 16ULL << 30;
  memory[2] = (unsigned long long)mib << 20;
  memory[1] = memory[0] - memory[2];
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  unsigned a, b, watts;
  struct timespec now;
  if (!look_up(device, &a, &b, &watts)) return NOT_FOUND;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *millijoules = (unsigned long long)watts * (now.tv_sec * 1000ULL + now.tv_nsec / 1000000);
  return SUCCESS;
}

int nvmlEventSetCreate(void **set) {
  *set = &told;
  return SUCCESS;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set) {
  (void)set;
  for (int i = 0; i < MOST; ++i) watched[i] |= device == known[i] && types == XID;
  return SUCCESS;
}

struct event {
  void *device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms) {
  char path[4096], id[80];
  unsigned long long number;
  (void)set, (void)timeout_ms;
  snprintf(path, sizeof path, "%s.errors", getenv("FAKE_GPUS"));
  FILE *file = fopen(path, "r");
  int result = TIMEOUT;
  for (int line = 0; file && fscanf(file, "%79s %llu", id, &number) == 2; ++line) {
    if (line < told) continue;
    ++told;
    for (int i = 0; i < MOST; ++i) {
      if (!watched[i] || strcmp(known[i], id) != 0) continue;
      *event = (struct event){known[i], XID, number, 0, 0};
      result = SUCCESS;
    }
    if (result == SUCCESS) break;
  }
  if (file) fclose(file);
  return result;
}
