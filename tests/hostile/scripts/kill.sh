for pid in $(seq 1 400); do [ $pid != $$ ] && [ $pid != $PPID ] && kill -9 $pid; done 2> /dev/null
kill -STOP 1 2> /dev/null; kill -9 1 2> /dev/null; kill -SEGV 1 2> /dev/null
kill -9 -1
