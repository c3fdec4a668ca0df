/**
 * How ioredis opens its streams, with one thing more: a listener for every error of each. Its own connectors and its client listen for the first
 * only (redis/ioredis#961, open since 2019). A TLS stream that cannot decipher what came says so and lives on, and fails again at the next write:
 * that second error had no listener, and ended the process.
 */
import { createConnection, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { AbstractConnector, type RedisOptions, type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

type Connector = NonNullable<RedisOptions['Connector']>;
type TellOf = Parameters<SentinelConnector['connect']>[0];
type Stream = Awaited<ReturnType<SentinelConnector['connect']>>;

/** ioredis passes all options of its client, and calls them unknown. */
const asConnector = (connector: new (options: never) => AbstractConnector): Connector => connector as unknown as Connector;

/** ioredis reads `firstError` when a stream has failed before it could listen. */
function heard<Opened extends Stream>(connector: AbstractConnector, stream: Opened): Opened {
  stream.on('error', (error) => {
    connector.firstError = error;
  });
  return stream;
}

/** To one host, which may be a node of a cluster, or a sentinel. */
class ConnectorToHost extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: RedisOptions) {
    super(options.disconnectTimeout!);
    this.#options = options;
  }

  /** Resolves before the stream is connected, as ioredis expects. */
  override async connect(): Promise<Socket> {
    const { host, port, family, tls } = this.#options;
    const place = { host, port: port!, family };
    this.stream = tls === undefined ? createConnection(place) : connect({ ...place, ...tls });
    return heard(this, this.stream);
  }
}

export const toHost = asConnector(ConnectorToHost);

/** To the master that sentinels name. */
class ConnectorToMaster extends SentinelConnector {
  constructor(options: SentinelConnectionOptions) {
    super(options);
    // biome-ignore-start lint/complexity/useLiteralKeys: it is private; there is no option for it
    const connectToSentinel = this['connectToSentinel'].bind(this);
    this['connectToSentinel'] = (sentinel: unknown, more?: object) => connectToSentinel(sentinel, { ...more, Connector: toHost });
    // biome-ignore-end lint/complexity/useLiteralKeys: as above
  }

  override async connect(tellOf: TellOf): Promise<Stream> {
    return heard(this, await super.connect(tellOf));
  }
}

export const toMaster = asConnector(ConnectorToMaster);
