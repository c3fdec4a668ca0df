/**
 * What the directory does inside Redis, as Lua: each script is atomic there and touches one key. ioredis sends the hash of a script and, where
 * Redis does not know it (a restart, a failover, SCRIPT FLUSH), the script itself.
 */

/**
 * KEYS[1] the workers; ARGV: incarnation, entry, milliseconds of silence after which a worker is forgotten. Returns the entries heard of.
 *
 * The time is Redis' own, so clocks of workers do not matter. After a failover it may be behind what is stored; such an entry is heard now,
 * or its worker might be remembered for as long as the clocks differ.
 */
const BEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local heardAt = string.format('%.0f ', now)
local silent = tonumber(ARGV[3])
local stored = redis.call('HGETALL', KEYS[1])
local heard = {ARGV[2]}
for i = 1, #stored, 2 do
  local incarnation = stored[i]
  if incarnation ~= ARGV[1] then
    local at, entry = string.match(stored[i + 1], '^(%d+) (.*)$')
    at = tonumber(at)
    if at == nil or now - at > silent then
      redis.call('HDEL', KEYS[1], incarnation)
    else
      if at > now then redis.call('HSET', KEYS[1], incarnation, heardAt .. entry) end
      heard[#heard + 1] = entry
    end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], heardAt .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], silent)
return heard
`;

/**
 * KEYS[1] a location; ARGV: epoch, what is stored, milliseconds to keep it. What is stored begins with the epoch in sixteen digits: numbers of
 * Lua are doubles, and strings of one length compare like the numbers that they are.
 */
const PUBLISH = `
local known = redis.call('GET', KEYS[1])
if known == ARGV[2] then redis.call('PEXPIRE', KEYS[1], ARGV[3]) return 0 end
if known and string.sub(known, 1, #ARGV[1]) >= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`;

/** KEYS[1] a location; ARGV[1] what it must begin with to be removed: epoch and incarnation. */
const RETRACT = `
local known = redis.call('GET', KEYS[1])
if not known or string.sub(known, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`;

export const REDIS_SCRIPTS = {
  beatWorker: { lua: BEAT, numberOfKeys: 1 },
  publishLocation: { lua: PUBLISH, numberOfKeys: 1 },
  retractLocation: { lua: RETRACT, numberOfKeys: 1 },
};

/** The scripts as methods of a client. */
export interface RedisScripts {
  beatWorker(key: string, incarnation: string, entry: string, silentMs: number): Promise<string[]>;
  publishLocation(key: string, epoch: string, stored: string, keepMs: number): Promise<number>;
  retractLocation(key: string, begins: string): Promise<number>;
}
