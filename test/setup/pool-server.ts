// A stand-in for a Postgres server behind a pool, for attacks: it takes every account, knows a few statements, and says
// what it saw. And the client of the attacks, as text of a worker.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { codeOf, errorMessage, int32, message, MessageReader } from '#runtime/engine/bindings/pools/messages.ts';

/** A stand-in, which keeps no process alive. */
interface PoolServer {
  readonly port: number;
  /** Connections that are open, and the most that were at a time. */
  readonly open: number;
  readonly openMost: number;
  /** Bytes of COPY that arrived. */
  readonly copied: number;
  /** Cancellations that arrived with a key of this server. */
  readonly cancelled: number;
}

const CANCEL_CODE = 80_877_102;
const CHUNK = message('d', Buffer.alloc(32 * 1024, 'x'));

/**
 * Its statements: `who` gives the account and the number of the connection, `role` what SET ROLE set, `sleep` ends when
 * it is cancelled, `copy in` and `copy out` take and give bytes.
 */
export async function startPoolServer(): Promise<PoolServer> {
  const sockets = new Set<Socket>();
  const sleeping = new Map<string, () => void>();
  let made = 0;
  let openMost = 0;
  let copied = 0;
  let cancelled = 0;

  function serve(socket: Socket, first: Buffer): void {
    const pairs = first.subarray(8).toString().split('\0');
    const account = pairs[pairs.indexOf('user') + 1];
    const number = ++made;
    const key = Buffer.concat([int32(number), int32(number * 7)]);
    let state = 'I';
    let role = 'none';
    const say = (...messages: readonly Buffer[]): void => void socket.write(Buffer.concat(messages));
    const done = (...messages: readonly Buffer[]): void =>
      say(...messages, message('C', 'DONE\0'), message('Z', state));
    const row = (text: string): Buffer => message('D', Buffer.from([0, 1]), int32(text.length), text);
    const failed = (code: string): void => say(errorMessage(code, 'failed'), message('Z', state));
    const run = (statement: string): void => {
      if (statement === 'DISCARD ALL') {
        if (state !== 'I') return failed('25001');
        role = 'none';
      } else if (statement === 'begin') state = 'T';
      else if (statement === 'rollback') state = 'I';
      else if (statement.startsWith('set role ')) role = statement.slice(9);
      else if (statement === 'who') return done(row(`${account}/${number}`));
      else if (statement === 'role') return done(row(role));
      else if (statement === 'sleep') return void sleeping.set(key.toString('hex'), () => failed('57014'));
      else if (statement === 'copy in') return say(message('G', Buffer.from([0, 0, 0])));
      else if (statement.startsWith('copy out ')) {
        say(message('H', Buffer.from([0, 0, 0])));
        let left = Number(statement.slice(9));
        const more = (): void => {
          for (; left > 0; left -= CHUNK.length) if (!socket.write(CHUNK)) return void socket.once('drain', more);
          done(message('c'));
        };
        return more();
      } else return failed('42601');
      done();
    };
    const reader = new MessageReader(
      (type, body) => {
        if (type === codeOf('Q')) run(body?.toString().replace(/\0$/, '') ?? '');
        else if (type === codeOf('c')) done();
        else if (type === codeOf('X')) socket.end();
      },
      (type) => (type === codeOf('Q') ? 1000 : 0),
    );
    socket.on('data', (chunk) => {
      if (chunk.length > 1000) copied += chunk.length;
      reader.push(chunk);
    });
    say(message('R', int32(0)), message('K', key), message('Z', 'I'));
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    openMost = Math.max(openMost, sockets.size);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.once('data', (first) => {
      if (first.readInt32BE(4) !== CANCEL_CODE) return serve(socket, first);
      const cancel = sleeping.get(first.subarray(8).toString('hex'));
      if (cancel !== undefined) cancelled++;
      cancel?.();
      socket.end();
    });
  });
  await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return sockets.size;
    },
    get openMost() {
      return openMost;
    },
    get copied() {
      return copied;
    },
    get cancelled() {
      return cancelled;
    },
  };
}

/** The URL of the stand-in, for a variable. */
export function poolUrl({ port }: Pick<PoolServer, 'port'>, user = 'attacker', host = '127.0.0.1'): string {
  return `postgres://${user}:word@${host}:${port}/shop?sslmode=disable`;
}

/** Top level of a worker: `Client` speaks the protocol over `env.PG`, whatever it is made to say. */
export const poolClient = `
import { connect } from 'cloudflare:sockets';
const encode = (text) => new TextEncoder().encode(text);
const int32 = (value) => new Uint8Array([value >>> 24, value >>> 16, value >>> 8, value]);
const joined = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));
const message = (type, body) => joined(encode(type), int32(body.length + 4), body);
const first = (code, body) => joined(int32(body.length + 8), int32(code), body);
const startup = (parameters = {}) => first(196608, encode(Object.entries({ user: 'any', ...parameters }).map(([name, value]) => name + '\\0' + value + '\\0').join('') + '\\0'));
class Client {
  constructor(pg) { this.socket = pg.connect(); this.writer = this.socket.writable.getWriter(); this.reader = this.socket.readable.getReader(); this.rest = new Uint8Array(0); this.socket.closed.catch(() => {}); }
  send(bytes) { return this.writer.write(bytes); }
  async read(count) {
    while (this.rest.length < count) {
      const { value, done } = await this.reader.read();
      if (done) throw new Error('closed');
      const both = new Uint8Array(this.rest.length + value.length);
      both.set(this.rest); both.set(value, this.rest.length);
      this.rest = both;
    }
    const bytes = this.rest.subarray(0, count);
    this.rest = this.rest.subarray(count);
    return bytes;
  }
  async next() {
    const [type, ...length] = await this.read(5);
    const body = await this.read(length.reduce((sum, byte) => sum * 256 + byte, 0) - 4);
    return { type: String.fromCharCode(type), body };
  }
  /** The value, or the code of the error, before one of these messages. */
  async until(types) {
    let found = '';
    for (;;) {
      const { type, body } = await this.next();
      const text = new TextDecoder().decode(body);
      if (type === 'K') this.key = body;
      if (type === 'D') found = text.slice(6);
      if (type === 'E') found = /\\0C([^\\0]*)/.exec('\\0' + text)[1];
      if (types.includes(type) || (type === 'E' && /(?:^|\\0)SFATAL/.test(text))) return found;
    }
  }
  async start(parameters) { await this.send(startup(parameters)); return this.until('Z'); }
  async query(text) { await this.send(message('Q', encode(text + '\\0'))); return this.until('Z'); }
  async end() { await this.send(message('X', [])); await this.reader.read().catch(() => {}); }
  /** All that comes until the end: the code of an error, or what it was. */
  async outcome() { try { const found = await this.until('Z'); return found === '' ? 'ready' : found; } catch ({ message, code }) { return code ?? message; } }
}
const opened = async (pg, parameters) => { const client = new Client(pg); const problem = await client.start(parameters); if (problem !== '') throw new Error(problem); return client; };
const asked = async (pg, text) => { const client = await opened(pg); try { return await client.query(text); } finally { await client.end(); } };
`;
