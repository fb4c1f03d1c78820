/* What the processes of weight_sharing.c have in common: the weights, and what they say to each
 * other. A message is one packet of a Unix socket; the descriptors of all layers travel in one, so
 * that nobody ever has half of the weights. Nobody waits for ever, whoever is killed. */

#ifndef TWINMMU_TOOLS_EXAMPLES_WEIGHTS_WEIGHT_SHARING_H_
#define TWINMMU_TOOLS_EXAMPLES_WEIGHTS_WEIGHT_SHARING_H_

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE first: this needs sockets of Linux"
#endif
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kLayers = 4, kLineWords = 32, kPatienceMs = 60 * 1000 };

/* Each layer is an allocation. */
struct weights {
  size_t sizes[kLayers];
  int descriptors[kLayers]; /* of exported memory; -1: none */
};

enum kind {
  kNeed,    /* worker to server: I have no weights */
  kHave,    /* worker to server: I have them, if you need them */
  kGive,    /* server to worker: I do */
  kWeights, /* with all descriptors */
  kCompute, /* starter to worker: the checksum, please */
  kLetGo,   /* starter to worker: of the weights; value: granules that are to be free by that */
  kDone     /* to the starter: what was asked for is done, and this is the result */
};

struct message {
  enum kind kind;
  uint64_t value;
  size_t sizes[kLayers];
};

static inline void close_weights(struct weights* weights) {
  int layer;
  for (layer = 0; layer < kLayers; ++layer) {
    if (weights->descriptors[layer] != -1) close(weights->descriptors[layer]);
    weights->descriptors[layer] = -1;
  }
}

union weight_control {
  char bytes[CMSG_SPACE(kLayers * sizeof(int))];
  struct cmsghdr aligned;
};

/* Returns 0 if the other process is gone. weights: NULL, or what goes with the message. */
static inline int send_message(int socket, enum kind kind, uint64_t value,
                               const struct weights* weights) {
  struct message message;
  struct iovec data = {&message, sizeof(message)};
  union weight_control control;
  struct msghdr header;
  memset(&message, 0, sizeof(message));
  memset(&control, 0, sizeof(control));
  memset(&header, 0, sizeof(header));
  message.kind = kind;
  message.value = value;
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (weights != NULL) {
    struct cmsghdr* rights;
    memcpy(message.sizes, weights->sizes, sizeof(message.sizes));
    header.msg_control = control.bytes;
    header.msg_controllen = sizeof(control.bytes);
    rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(weights->descriptors));
    memcpy(CMSG_DATA(rights), weights->descriptors, sizeof(weights->descriptors));
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(message);
}

/* Returns 0 where none of them has anything to say for a long time. */
static inline int await_any(struct pollfd* sockets, nfds_t count) {
  int ready;
  do {
    ready = poll(sockets, count, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

/* Returns 0 if the other process is gone, is silent, or says what nobody understands. weights: what
 * came with the message, to be closed by the caller; NULL: nothing may come. */
static inline int receive_message(int socket, struct message* message, struct weights* weights) {
  struct pollfd waits = {socket, POLLIN, 0};
  struct iovec data = {message, sizeof(*message)};
  union weight_control control;
  const struct cmsghdr* rights;
  struct msghdr header;
  struct weights came = {{0}, {-1, -1, -1, -1}};
  ssize_t size;
  int is_right;
  memset(&header, 0, sizeof(header));
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof(control.bytes);
  if (!await_any(&waits, 1)) return 0;
  size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return 0;
  rights = CMSG_FIRSTHDR(&header);
  if (rights != NULL && rights->cmsg_type == SCM_RIGHTS) {
    memcpy(came.descriptors, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
  }
  is_right = size == (ssize_t)sizeof(*message) &&
             (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
             (weights != NULL ? came.descriptors[kLayers - 1] != -1 : came.descriptors[0] == -1);
  if (!is_right) {
    close_weights(&came);
    return 0;
  }
  memcpy(came.sizes, message->sizes, sizeof(came.sizes));
  if (weights != NULL) *weights = came;
  return 1;
}

/* weight_server.c and weight_worker.c. They return when the starter lets go of `control`. */
void run_server(int listener, int control, int load);
void run_worker(const char* address, int control);

#endif /* TWINMMU_TOOLS_EXAMPLES_WEIGHTS_WEIGHT_SHARING_H_ */
