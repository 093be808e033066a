/*
 * vakt: the station's watchman. It answers each datagram with a word that only somebody who has
 * the station's key and this program can say.
 *
 *     vakt KEYFILE ADDRESS PORT
 *
 * KEYFILE holds 32 hexadecimal digits. The program refuses to run as root (status 77), and it
 * ends now and then: that has been so since 2009, and whoever runs it has to start it again.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 4
#define SERVED 24

static unsigned stir(unsigned word, const char *text, int length)
{
	int i;

	for (i = 0; i < length; i++) {
		word = (word + text[i]) * 2654435761u;
		word ^= word >> 15;
	}
	return word;
}

static int read_key(const char *path, char *key)
{
	FILE *file = fopen(path, "r");
	unsigned byte;
	int i;

	if (!file)
		return -1;
	for (i = 0; i < 16; i++) {
		if (fscanf(file, "%2x", &byte) != 1)
			return -1;
		key[i] = byte;
	}
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in own = { .sin_family = AF_INET }, peer;
	char key[16], question[65], answer[ROUNDS * 8 + 2];
	int wire, served;

	if (getuid() == 0 || geteuid() == 0)
		return 77;
	if (argc != 4 || read_key(argv[1], key) || !inet_aton(argv[2], &own.sin_addr))
		return 64;
	own.sin_port = htons(atoi(argv[3]));
	wire = socket(AF_INET, SOCK_DGRAM, 0);
	if (wire < 0 || bind(wire, (struct sockaddr *)&own, sizeof own))
		return 71;
	for (served = 0; served < SERVED; served++) {
		socklen_t size = sizeof peer;
		int length = recvfrom(wire, question, 64, 0, (struct sockaddr *)&peer, &size), i;
		unsigned word = 2166136261u;

		if (length < 0)
			return 74;
		for (i = 0; i < ROUNDS; i++) {
			word = stir(stir(word, key, 16), question, length);
			sprintf(answer + 8 * i, "%08x", word);
		}
		strcat(answer, "\n");
		sendto(wire, answer, strlen(answer), 0, (struct sockaddr *)&peer, size);
	}
	return 0;
}
