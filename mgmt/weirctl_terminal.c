// SPDX-License-Identifier: GPL-2.0-or-later
// Signal handlers only set flags; the terminal is put back by the code that changed it, and by atexit for the ways out
// that nobody thought of.
#include "mgmt/weirctl_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t ended, changed, suspend;

static void note(int signal)
{
	if (signal == SIGWINCH || signal == SIGCONT)
		changed = 1;
	else if (signal == SIGTSTP)
		suspend = 1;
	else if (ended) // and still here: the terminal takes no output (Ctrl-S), so nothing can be put back
		_exit(128 + signal);
	else
		ended = signal;
}

static void on_signal(int signal, void (*handler)(int), struct sigaction *before)
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, before); // without SA_RESTART: a read must end
}

// ---- lines

// Up to the end of the line or input. False: nothing was there, it was too long, or a signal came.
static bool read_line(int fd, char *buf, size_t size)
{
	size_t n = 0;
	char c;

	for (;;) {
		ssize_t got = read(fd, &c, 1);

		if (got < 0 && errno == EINTR && !ended)
			continue;
		if (got < 0 || (got == 0 && !n))
			return false;
		if (got == 0 || c == '\n')
			break;
		if (n + 1 >= size)
			return false;
		buf[n++] = c;
	}
	if (n && buf[n - 1] == '\r')
		n--;
	buf[n] = '\0';
	return true;
}

bool password_from_stdin(char *buf, size_t size)
{
	return read_line(STDIN_FILENO, buf, size) && buf[0];
}

bool password_ask(const char *prompt, char *buf, size_t size)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction before[ARRAY_LEN(signals)], stop;
	struct termios was, quiet;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool ok = false;

	if (fd < 0)
		return false;
	ended = 0;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		on_signal(signals[i], note, &before[i]);
	on_signal(SIGTSTP, SIG_IGN, &stop); // a stopped reader would leave the echo off
	if (!tcgetattr(fd, &was)) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
		tcsetattr(fd, TCSAFLUSH, &quiet);
		dprintf(fd, "%s", prompt);
		ok = read_line(fd, buf, size) && buf[0];
		tcsetattr(fd, TCSAFLUSH, &was);
		dprintf(fd, "\n");
	}
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &before[i], NULL);
	sigaction(SIGTSTP, &stop, NULL);
	close(fd);
	if (ended)
		raise(ended);
	return ok;
}

bool somebody_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool ask_yes(const struct screen *s, const char *question)
{
	char answer[16];

	tell(s, INK_BOLD, "%s [y/N] ", question);
	fflush(s->out);
	return read_line(STDIN_FILENO, answer, sizeof answer) && (answer[0] == 'y' || answer[0] == 'Y');
}

// ---- the whole screen

static struct termios found;
static bool entered;

static void put(const char *codes)
{
	size_t n = strlen(codes);

	while (n) {
		ssize_t k = write(STDOUT_FILENO, codes, n);

		if (k <= 0 && errno != EINTR)
			return;
		if (k > 0) {
			codes += k;
			n -= (size_t)k;
		}
	}
}

static void take(void)
{
	struct termios keys = found;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys); // a key that came early counts
	put("\033[?1049h\033[?25l\033[?7l");       // alternate screen, no cursor, no wrapping
}

static void give_back(void)
{
	put("\033[?7h\033[?25h\033[?1049l\033[0m");
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &found);
}

void fullscreen_leave(void)
{
	if (entered)
		give_back();
	entered = false;
}

bool fullscreen_enter(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};

	if (!somebody_there() || tcgetattr(STDIN_FILENO, &found))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		on_signal(signals[i], note, NULL);
	atexit(fullscreen_leave);
	entered = true;
	take();
	return true;
}

bool fullscreen_ended(void)
{
	if (suspend) {
		suspend = 0;
		give_back();
		raise(SIGSTOP);
		take();
		changed = 1;
	}
	return ended;
}

bool fullscreen_changed(void)
{
	bool was = changed;

	changed = 0;
	return was;
}

void fullscreen_size(unsigned *columns, unsigned *rows)
{
	struct winsize size = {0};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*columns = size.ws_col ? size.ws_col : 80;
	*rows = size.ws_row ? size.ws_row : 24;
}
