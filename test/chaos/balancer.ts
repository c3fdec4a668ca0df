/** What stands before the cluster: one address for all clients, whose connections go to the nodes in turn; a node that does not listen is passed over. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Balancer {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #turn = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async open(ports: readonly number[]): Promise<Balancer> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a numeric port');
    const balancer = new Balancer(server, address.port);
    server.on('connection', (near) => balancer.#lead(near, ports, 0));
    return balancer;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #lead(near: Socket, ports: readonly number[], tried: number): void {
    if (tried === 0) this.#keep(near);
    if (tried === ports.length) {
      near.destroy(); // nobody listens
      return;
    }
    const far = connect({ host: '127.0.0.1', port: ports[this.#turn++ % ports.length]!, noDelay: true });
    const refused = (): void => this.#lead(near, ports, tried + 1);
    far.once('error', refused);
    far.once('connect', () => {
      far.off('error', refused);
      this.#keep(far);
      join(near, far);
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined); // the close that follows ends the other side
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function join(near: Socket, far: Socket): void {
  near.pipe(far);
  far.pipe(near);
  near.once('close', () => far.destroy());
  far.once('close', () => near.destroy());
  if (near.destroyed) far.destroy();
}
