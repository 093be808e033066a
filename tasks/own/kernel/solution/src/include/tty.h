/* Terminals. */
#pragma once
#include "fs.h"

enum { VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL, VREPRINT, VDISCARD, VWERASE, VLNEXT, VEOL2 };
#define ICRNL 0400
#define INLCR 0100
#define IGNCR 0200
#define ISTRIP 040
#define IXON 02000
#define IXANY 04000
#define OPOST 1
#define ONLCR 4
#define OCRNL 010
#define ISIG 1
#define ICANON 2
#define ECHO 010
#define ECHOE 020
#define ECHOK 040
#define ECHONL 0100
#define NOFLSH 0200
#define TOSTOP 0400
#define ECHOCTL 01000
#define ECHOKE 04000
#define IEXTEN 0100000

struct termios { u32 iflag, oflag, cflag, lflag; u8 line; u8 cc[19]; };
struct winsize { u16 rows, columns, x, y; };

#define INPUT_SIZE 32768
#define LINE_MOST 4095		/* in canonical mode */
#define END_MARK 0x100		/* in the input: ^D */

struct tty {
	struct termios termios;
	struct winsize size;
	int sid, foreground;
	u16 input[INPUT_SIZE];
	u32 head, tail, ready;	/* counts; up to `ready` whole lines */
	bool stopped, literal, hung_up, throttled;
	struct waitqueue readers, writers;
	u32 refs;
	/* Gives characters out; false: no room for one just now. */
	bool (*send)(struct tty *t, char c);
	bool (*room)(struct tty *t);
	void (*resume)(struct tty *t);	/* there is room for input again */
	u64 rdev;
	struct pty *pty;
};

extern struct tty console;
void tty_init(struct tty *t);
void tty_input(struct tty *t, u8 c);
bool tty_input_room(struct tty *t);
