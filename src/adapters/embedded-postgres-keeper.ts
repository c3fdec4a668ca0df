/**
 * The keeper: a small shell that stands between Atrium and its private Postgres, so that neither can be left with a stranger.
 *
 * Node cannot hold a file lock and cannot run anything after kill -9; a shell can do both. The keeper reads a pipe that only Atrium holds
 * open: when Atrium ends, in whatever way, the pipe ends and the keeper shuts Postgres down. Two locks, each held by an open file and
 * therefore gone with its last holder, whatever becomes of process ids:
 *
 * - `atrium.lock`: an Atrium lives here. Held by the part of the keeper that reads the pipe.
 * - `postgres.lock`: some process of a Postgres still runs on these files, down to the last backend. Inherited by all of them.
 */

/** Exit codes of the keeper itself; any other code is that of Postgres or initdb. */
export const KEEPER_EXIT = { inUse: 75, orphanStays: 76, noLockTool: 77 } as const;

/** Arguments: home directory, directory of the binaries, then the arguments of postgres. */
export const KEEPER = `
home=$1; bin=$2; shift 2; unset KEEPER
trap '' HUP INT TERM                    # a Ctrl-C or a service manager speaks to Atrium; Atrium says when

if command -v flock >/dev/null; then
  lock() { flock -n "$1"; }
elif command -v perl >/dev/null; then   # macOS
  lock() { perl -e 'use Fcntl ":flock"; open(my $f, ">&=", $ARGV[0]) or exit 1; flock($f, LOCK_EX | LOCK_NB) or exit 1' "$1"; }
else
  exit ${KEEPER_EXIT.noLockTool}
fi

exec 3<&0 8>>"$home/atrium.lock" || exit 1

tries=0                                 # 1 s: the keeper of an Atrium killed just now needs a moment to notice
until lock 8; do
  tries=$((tries + 1)); [ $tries -le 20 ] || exit ${KEEPER_EXIT.inUse}
  sleep 0.05
done

end_orphan() {                          # in order
  orphan=$(head -n 1 "$home/data/postmaster.pid" 2>/dev/null)
  [ -z "$orphan" ] || kill -INT "$orphan" 2>/dev/null
}
kill_holders() {                        # at once, as when the power is cut; only Linux tells who they are
  for file in /proc/[0-9]*/fd/9; do
    [ "$file" -ef "$home/postgres.lock" ] || continue
    holder=\${file#/proc/}; holder=\${holder%%/*}
    [ "$holder" = $$ ] || kill -9 "$holder" 2>/dev/null
  done
}
exec 9>>"$home/postgres.lock" || exit 1 # only now: who waits for the first lock is no holder of this one
tries=0                                 # Atrium is gone, its Postgres is not: it is shutting down, or lost its keeper too
until lock 9; do
  tries=$((tries + 1)); [ $tries -le 800 ] || exit ${KEEPER_EXIT.orphanStays}
  if [ $tries -le 200 ]; then           # 10 s
    end_orphan
  else                                  # a slow disk; or a backend outlived its postmaster and waits for a lock that died with another
    kill_holders
  fi
  sleep 0.05
done
# No process of the old Postgres is left. Its number may already belong to somebody else, or to its own unburied remains, which Postgres
# would take for a living one: in the data as in the lock of its socket.
rm -f "$home/data/postmaster.pid" "$home"/.s.PGSQL.*.lock

if [ ! -e "$home/data" ]; then          # made aside and renamed: half a database is never taken for one
  rm -rf "$home/data.new"
  "$bin/initdb" -D "$home/data.new" --username=atrium --auth=trust --encoding=UTF8 --locale=C \\
    --locale-provider=builtin --builtin-locale=C.UTF-8 --no-instructions >/dev/null || exit
  mv "$home/data.new" "$home/data" && sync "$home" || exit
fi

chrt -b -p 0 $$ >/dev/null 2>&1           # where there is one: what wakes up does not interrupt Atrium on the same core (sched(7), SCHED_BATCH)
"$bin/postgres" -D "$home/data" "$@" </dev/null 3<&- 8>&- &
postgres=$!
{ read -r _ <&3; exec 8>&-; kill -INT "$postgres"; } &
reader=$!
exec 3<&- 8>&-
wait "$postgres"; code=$?
kill -9 "$reader" 2>/dev/null
exit $code
`;
