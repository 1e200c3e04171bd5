"""System call policy of every sandbox and container: classic BPF for bubblewrap, a seccomp profile for Docker.

Calls that Docker's default profile denies to a container without capabilities fail with EPERM: keys, BPF, performance counters,
io_uring, user namespaces, mounts, modules, clocks. In addition, clone3 fails with ENOSYS, because its flags are behind a
pointer that no filter can read. Sockets of all but four families fail with EAFNOSUPPORT; AF_VSOCK, for example, reaches the
host of a virtual machine. Unknown call numbers fail with ENOSYS, and so does every call of x86's x32 table. A call by the
convention of another architecture ends its process. Docker's profile lists the allowed calls. ptrace is allowed, as in Docker,
because PID 1 is protected in another way, and all other reachable processes belong to the agent.

Sources: seccomp(2), <linux/filter.h>, moby's profiles/seccomp/default_linux.go, arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h of Linux 6.18.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from harness.errors import RuntimeFailure

Instruction = tuple[int, int, int, int]
"""Instruction as in struct sock_filter: code, instructions to skip if true, and if false, and a number."""

LOAD, IF_EQUAL, IF_GREATER, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data; for an argument, that of the lower half, which is the only part checked here."""

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

NEWEST_CALL = 469
"""file_setattr of Linux 6.17. From 424 on, all architectures share their numbers."""

NAMESPACES = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME."""

SIGNAL_MASK = 0xFF
"""Bits of clone's flags that contain a signal; unshare uses one of them for CLONE_NEWTIME."""

FAMILIES = (1, 2, 10, 16)
"""Allowed families: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (the C library reads the interface addresses with it)."""

PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)
"""Personalities allowed by Docker's profile."""

CALLS: Mapping[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "create_module": (174, None), "delete_module": (176, 106), "fanotify_init": (300, 262),
    "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "get_kernel_syms": (177, None), "get_mempolicy": (239, 236), "init_module": (175, 105), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None),
    "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "lookup_dcookie": (212, 18), "mbind": (237, 235), "migrate_pages": (256, 238), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239),
    "nfsservctl": (180, 42), "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241), "pivot_root": (155, 41), "query_module": (178, None), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "request_key": (249, 218), "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "swapoff": (168, 225), "swapon": (167, 224), "_sysctl": (156, None), "sysfs": (139, None),
    "syslog": (103, 116), "umount2": (166, 39), "uselib": (134, None), "userfaultfd": (323, 282), "ustat": (136, None),
    "vhangup": (153, 58),
}  # fmt: skip
"""System calls refused whatever their arguments, with their numbers on x86_64 and on aarch64."""

SPECIAL: Mapping[str, tuple[int, int]] = {
    "clone": (56, 220), "clone3": (435, 435), "personality": (135, 92), "socket": (41, 198), "socketpair": (53, 199),
    "unshare": (272, 97),
}  # fmt: skip
"""System calls whose arguments are checked."""

UNCOUNTED: Mapping[str, tuple[int, int]] = {"memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194)}
"""System calls for memory that belongs to no process and no folder, which only a control group counts."""

LASTING = ("mq_open", "msgget", "semget", "shmget")
"""System calls for objects that outlive the processes using them, refused if a container is reused."""

OPEN = """
    accept accept4 access adjtimex alarm arch_prctl bind brk cachestat capget capset chdir chmod chown clock_getres
    clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
    epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2
    fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
    file_getattr file_setattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex
    futex_requeue futex_wait futex_waitv futex_wake futimesat get_robust_list getcpu getcwd getdents getdents64 getegid
    geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid
    getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat
    inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup
    io_submit ioctl ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown
    lgetxattr link linkat listen listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lsm_get_self_attr
    lsm_list_modules lsm_set_self_attr lstat madvise map_shadow_stack membarrier mincore mkdir mkdirat mknod mknodat mlock
    mlock2 mlockall mmap modify_ldt mprotect mq_getsetattr mq_notify mq_timedreceive mq_timedsend mq_unlink mremap mseal
    msgctl msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep newfstatat open openat openat2 pause
    pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv
    preadv2 prlimit64 process_madvise process_mrelease process_vm_readv process_vm_writev pselect6 ptrace pwrite64 pwritev
    pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr removexattrat
    rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
    rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity
    sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semop semtimedop sendfile sendmmsg
    sendmsg sendto set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority
    setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl shmdt
    shutdown sigaltstack signalfd signalfd4 splice stat statfs statmount statx symlink symlinkat sync sync_file_range
    syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
    timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork vmsplice
    wait4 waitid write writev
"""
"""Names of all other calls of both architectures, for Docker's profile, which refuses all calls that it does not list."""

MACHINES: Mapping[str, tuple[int, int]] = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""For each machine, its column in the tables above, and its architecture as in <linux/audit.h>."""


def program(machine: str | None = None, *, uncounted: bool = True) -> bytes:
    """Return the filter for a machine (this one), with or without the calls of UNCOUNTED; raises RuntimeFailure for others."""
    machine = machine or os.uname().machine
    if machine not in MACHINES:
        known = " and ".join(MACHINES)
        raise RuntimeFailure(f"sandboxes have a filter of system calls for {known}, not {machine}", hint="harness doctor")
    column, architecture = MACHINES[machine]
    special = {name: numbers[column] for name, numbers in SPECIAL.items()}
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE), (IF_EQUAL, 1, 0, architecture), _return(KILL),
        (LOAD, 0, 0, NUMBER), (IF_GREATER, 0, 1, NEWEST_CALL), _return(ERRNO | ENOSYS),
        *_on(special["clone3"], [_return(ERRNO | ENOSYS)]),
        *_on(special["clone"], _unless_any_bit(NAMESPACES & ~SIGNAL_MASK)),
        *_on(special["unshare"], _unless_any_bit(NAMESPACES)),
        *_on(special["socket"], _only(FAMILIES, EAFNOSUPPORT)),
        *_on(special["socketpair"], _only(FAMILIES, EAFNOSUPPORT)),
        *_on(special["personality"], _only(PERSONALITIES, EPERM)),
    ]  # fmt: skip
    refused = dict.fromkeys([n[column] for n in CALLS.values()], EPERM)
    refused |= {} if uncounted else dict.fromkeys([n[column] for n in UNCOUNTED.values()], ENOSYS)
    for number, errno in refused.items():
        code += _on(number, [_return(ERRNO | errno)]) if number is not None else []
    return b"".join(struct.pack("=HBBI", *one) for one in [*code, _return(ALLOW)])


@cache
def docker_profile(*, is_used_again: bool = False) -> str:
    """Return the policy as a Docker profile; with `is_used_again`, it forbids objects that outlive a process."""
    named = {*OPEN.split(), *UNCOUNTED, *LASTING} - {*(LASTING if is_used_again else ())}
    rules = [
        _rule(sorted(named), "ALLOW"), _rule(["clone3"], "ERRNO", errno=ENOSYS),
        _rule(["clone"], "ALLOW", ("MASKED_EQ", NAMESPACES & ~SIGNAL_MASK)),
        _rule(["unshare"], "ALLOW", ("MASKED_EQ", NAMESPACES)),
        *(_rule(["personality"], "ALLOW", ("EQ", value)) for value in PERSONALITIES),
    ]  # fmt: skip
    sockets, highest = ["socket", "socketpair"], max(FAMILIES)
    for family in range(highest + 1):
        is_open = family in FAMILIES
        rules.append(_rule(sockets, "ALLOW" if is_open else "ERRNO", ("EQ", family), errno=0 if is_open else EAFNOSUPPORT))
    rules.append(_rule(sockets, "ERRNO", ("GT", highest), errno=EAFNOSUPPORT))
    return json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": rules}, sort_keys=True)


@cache
def policy_digest() -> str:
    """Return the digest of the policy in all its forms, as results record it."""
    forms = [docker_profile(), docker_profile(is_used_again=True)]
    forms += [program(machine, uncounted=counted).hex() for machine in MACHINES for counted in (True, False)]
    return f"sha256:{hashlib.sha256(json.dumps(forms).encode()).hexdigest()}"


def _rule(names: Sequence[str], action: str, test: tuple[str, int] | None = None, *, errno: int = 0) -> dict[str, Any]:
    """Return one rule of a profile; a test applies to the first argument."""
    rule: dict[str, Any] = {"names": list(names), "action": f"SCMP_ACT_{action}"}
    if test is not None:
        rule["args"] = [{"index": 0, "op": f"SCMP_CMP_{test[0]}", "value": test[1], "valueTwo": 0}]
    return rule | ({"errnoRet": errno} if errno else {})


def _return(what: int) -> Instruction:
    return (RETURN, 0, 0, what)


def _on(number: int, body: Sequence[Instruction]) -> list[Instruction]:
    """Return the instructions for one system call; `body` ends in a return."""
    return [(IF_EQUAL, 0, len(body), number), *body]


def _unless_any_bit(bits: int) -> list[Instruction]:
    return [(LOAD, 0, 0, FIRST_ARGUMENT), (IF_ANY_BIT, 0, 1, bits), _return(ERRNO | EPERM), _return(ALLOW)]


def _only(values: Sequence[int], errno: int) -> list[Instruction]:
    """Return instructions that allow only these values of the first argument."""
    tests = [(IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [(LOAD, 0, 0, FIRST_ARGUMENT), *tests, _return(ERRNO | errno), _return(ALLOW)]
