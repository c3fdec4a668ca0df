/** Loaded into each worker before it starts: it ends at once, as for want of memory, when it reads a journal entry that has the word "deadly" in it. */
import pg from 'pg';

const { query } = pg.Client.prototype;

pg.Client.prototype.query = async function deadly(...args) {
  const result = await query.apply(this, args);
  const isJournal = args[0]?.name === 'journal.read';
  if (isJournal && result.rows.some((row) => Object.values(row).some((value) => String(value).includes('deadly'))))
    process.kill(process.pid, 'SIGKILL');
  return result;
};
