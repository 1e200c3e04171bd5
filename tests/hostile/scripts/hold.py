import ctypes, os, select, signal, sys
libc, runner, how = ctypes.CDLL(None, use_errno=True), os.getppid(), sys.argv[1]
ends = [libc.syscall(438, os.pidfd_open(runner), number, 0) for number in (1, 2)]
ends = [end if end >= 0 else os.open(f"/proc/{runner}/fd/{number}", os.O_WRONLY) for number, end in enumerate(ends, 1)]
if os.fork():
    signal.pause()
os.setsid()
os.kill(runner, signal.SIGSTOP if how == "stop" else signal.SIGKILL)
while how == "drip":
    os.write(ends[0], b"x")
    select.select([], [], [], 0.3)
while how == "flood":
    os.write(ends[1], b"y" * 4096)
signal.pause()
