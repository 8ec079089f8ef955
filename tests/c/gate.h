/* The way to the server of the tests, which can be shut. */
#ifndef GATE_H
#define GATE_H

#include "check.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GATE_PAIRS = 16 };

static struct gate {
    char url[64];
    int listener, server_port;
    pthread_t thread;
    atomic_int shut, stop;
    /* How often somebody came. */
    atomic_int came;
} gate;

static struct sockaddr_in gate_address(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* One more who comes: connected to the server, or sent away. */
static int gate_let_in(struct pollfd *pair)
{
    struct sockaddr_in server = gate_address(gate.server_port);
    int client = accept(gate.listener, NULL, NULL);

    gate.came++;
    if (!gate.shut) {
        pair[0] = (struct pollfd){.fd = client, .events = POLLIN};
        pair[1] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        if (connect(pair[1].fd, (struct sockaddr *)&server, sizeof server) == 0) {
            return 1;
        }
        close(pair[1].fd);
    }
    close(client);
    return 0;
}

/* Carries what came from one side to the other; 0 when the pair is at its end. */
static int gate_carry(struct pollfd *pair, int from)
{
    char bytes[4096];
    ssize_t size;

    if (gate.shut) {
        return 0;
    }
    if (pair[from].revents == 0) {
        return 1;
    }
    size = read(pair[from].fd, bytes, sizeof bytes);
    return size > 0 && send(pair[1 - from].fd, bytes, (size_t)size, MSG_NOSIGNAL) == size;
}

static void *gate_keep(void *unused)
{
    struct pollfd fds[1 + 2 * GATE_PAIRS] = {{.fd = gate.listener, .events = POLLIN}};
    nfds_t count = 1;

    while (!gate.stop) {
        poll(fds, count, 5);
        for (nfds_t i = 1; i < count;) {
            if (gate_carry(&fds[i], 0) && gate_carry(&fds[i], 1)) {
                i += 2;
                continue;
            }
            close(fds[i].fd);
            close(fds[i + 1].fd);
            fds[i] = fds[count - 2];
            fds[i + 1] = fds[count - 1];
            count -= 2;
        }
        if (fds[0].revents != 0 && count + 2 <= sizeof fds / sizeof *fds && gate_let_in(&fds[count])) {
            count += 2;
        }
    }
    for (nfds_t i = 0; i < count; i++) {
        close(fds[i].fd);
    }
    return unused;
}

static void gate_open(void)
{
    struct sockaddr_in address = gate_address(0);
    socklen_t size = sizeof address;

    gate.shut = gate.stop = gate.came = 0;
    gate.listener = socket(AF_INET, SOCK_STREAM, 0);
    if (sscanf(getenv("PADDLEGATE_TEST_URL"), "redis://%*[^:]:%d", &gate.server_port) != 1 ||
        bind(gate.listener, (struct sockaddr *)&address, size) != 0 || listen(gate.listener, 64) != 0 ||
        getsockname(gate.listener, (struct sockaddr *)&address, &size) != 0) {
        fprintf(stderr, "no gate\n");
        exit(1);
    }
    snprintf(gate.url, sizeof gate.url, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    pthread_create(&gate.thread, NULL, gate_keep, NULL);
}

static void gate_close(void)
{
    gate.stop = 1;
    pthread_join(gate.thread, NULL);
}

#endif
