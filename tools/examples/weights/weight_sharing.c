/* The weights of a model, once on the device for all processes that compute with them. A server
 * loads them and hands out descriptors; workers import them read-only. The server may be killed:
 * the workers compute on, and a new server has the weights from one of them without loading
 * anything. When the last one lets go, the memory is free.
 *
 * This file has the story; weight_server.c and weight_worker.c have the roles. The starter calls no
 * driver, and starts each process as a new program: one made by fork alone could not use a driver
 * that its parent had opened. It keeps the socket at which servers listen, so that the address
 * outlives a server. */

#define _GNU_SOURCE
#include "tools/examples/weights/weight_sharing.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tools/examples/check.h"

enum { kWorkers = 4, kProcesses = kWorkers + 3, kGranules = 10 };

struct process {
  pid_t pid; /* -1: it has ended */
  int control;
};
static struct process processes[kProcesses];
static int process_count = 0;

/* Whatever goes wrong, nobody is left. */
static void kill_all(void) {
  int i;
  for (i = 0; i < process_count; ++i) {
    if (processes[i].pid == -1) continue;
    kill(processes[i].pid, SIGKILL);
    waitpid(processes[i].pid, NULL, 0);
  }
}

/* Listens at an abstract address that the system chooses; five digits, with a 0 in front. */
static int listen_somewhere(char* address, size_t room) {
  struct sockaddr_un name = {AF_UNIX, {0}};
  socklen_t length = sizeof(name);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT(listener != -1, "no socket");
  EXPECT(bind(listener, (const struct sockaddr*)&name, sizeof(name.sun_family)) == 0 &&
             listen(listener, kProcesses) == 0 &&
             getsockname(listener, (struct sockaddr*)&name, &length) == 0,
         "no address");
  length -= offsetof(struct sockaddr_un, sun_path) + 1;
  EXPECT(length < room, "the address is too long");
  memcpy(address, name.sun_path + 1, length);
  address[length] = 0;
  return listener;
}

/* This program again, in another role. `inherited`: a descriptor that it gets, or -1. */
static struct process* start(const char* role, const char* where, const char* how, int inherited) {
  struct process* const process = &processes[process_count];
  int sockets[2];
  char control[16];
  EXPECT(process_count < kProcesses, "too many processes");
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0, "no socket");
  snprintf(control, sizeof(control), "%d", sockets[1]);
  process->control = sockets[0];
  process->pid = fork();
  EXPECT(process->pid != -1, "no process");
  if (process->pid == 0) {
    fcntl(sockets[1], F_SETFD, 0);
    if (inherited != -1) fcntl(inherited, F_SETFD, 0);
    execl("/proc/self/exe", "weight_sharing", role, where, how, control, (char*)NULL);
    _exit(127);
  }
  close(sockets[1]);
  ++process_count;
  return process;
}

static struct process* start_server(int listener, const char* how) {
  char number[16];
  snprintf(number, sizeof(number), "%d", listener);
  return start("server", number, how, listener);
}

static uint64_t await_done(const struct process* process) {
  struct message message;
  EXPECT(receive_message(process->control, &message, NULL), "a process has failed, or is silent");
  EXPECT(message.kind == kDone, "a process says what nobody understands");
  return message.value;
}

static uint64_t ask(const struct process* process, enum kind kind, uint64_t value) {
  EXPECT(send_message(process->control, kind, value, NULL), "a process has failed");
  return await_done(process);
}

/* Lets the process end by itself. */
static void end(struct process* process) {
  int status = -1;
  close(process->control);
  EXPECT(waitpid(process->pid, &status, 0) == process->pid && status == 0, "a process has failed");
  process->pid = -1;
}

static void end_at_once(struct process* process) {
  kill(process->pid, SIGKILL);
  waitpid(process->pid, NULL, 0);
  close(process->control);
  process->pid = -1;
}

static void tell_story(void) {
  struct process* workers[kWorkers];
  struct process* late;
  struct process* server;
  uint64_t sum;
  char address[64];
  int i;
  const int listener = listen_somewhere(address, sizeof(address));
  server = start_server(listener, "load");
  sum = await_done(server);
  for (i = 0; i < kWorkers; ++i) workers[i] = start("worker", address, "", -1);
  for (i = 0; i < kWorkers; ++i) {
    EXPECT(ask(workers[i], kCompute, 0) == sum, "a worker has other weights");
    printf("worker %d computes with the weights of the server\n", i);
  }

  end_at_once(server);
  for (i = 0; i < kWorkers; ++i) {
    EXPECT(ask(workers[i], kCompute, 0) == sum, "the weights went with the server");
  }
  printf("the server was killed, and the workers compute on\n");

  server = start_server(listener, "recover");
  await_done(server);
  printf("a new server has the weights from a worker\n");
  late = start("worker", address, "", -1);
  EXPECT(ask(late, kCompute, 0) == sum, "the new server has other weights");
  printf("a late worker computes with the weights of the new server\n");

  for (i = 0; i < kWorkers; ++i) ask(workers[i], kLetGo, 0);
  end(server);
  EXPECT(ask(late, kCompute, 0) == sum, "the weights went with the others");
  printf("all others have let go, and the late worker computes on\n");
  printf("the last one lets go: %d granules are free again\n", (int)ask(late, kLetGo, kGranules));
  for (i = 0; i < kWorkers; ++i) end(workers[i]);
  end(late);
  close(listener);
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "server") == 0) {
    run_server(atoi(argv[2]), atoi(argv[4]), strcmp(argv[3], "load") == 0);
  } else if (argc == 5 && strcmp(argv[1], "worker") == 0) {
    run_worker(argv[2], atoi(argv[4]));
  } else {
    atexit(kill_all);
    tell_story();
  }
  return 0;
}
