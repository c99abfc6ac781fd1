// A name server for Caddy on a loopback port, with the handlers (SRV) and their addresses (A, AAAA). Caddy queries it
// every half second, so handlers can come and go without a reload of its configuration, which would close WebSockets.
import { createHash } from 'node:crypto';
import { createSocket, type RemoteInfo } from 'node:dgram';
import { lookup, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { isIP, type AddressInfo } from 'node:net';

/** The name that has the SRV records. */
export const HANDLERS_NAME = 'handlers.edge.';
/** Maximum number of addresses, because more do not fit into one datagram. */
export const UPSTREAMS_MAX = 50;

/** A running name server. */
export interface UpstreamNames {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  /** @param upstreams the handlers as `host:port`; at most {@link UPSTREAMS_MAX} are used. */
  set(upstreams: readonly string[]): void;
  close(): void;
}

interface Upstream {
  readonly host: string;
  readonly port: number;
}

const A = 1;
const AAAA = 28;
const SRV = 33;
const QUESTION_AT = 12;
/** A pointer to the name in the question. */
const NAME_OF_QUESTION = 0xc000 | QUESTION_AT;
const NOT_FOUND = 3;
const LABEL_CHARS = 3;

export async function openUpstreamNames(): Promise<UpstreamNames> {
  /** The handlers are sorted by label, because the order decides which handler serves a host. */
  let upstreams = new Map<string, Upstream>();
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => void answer(query, from).catch(() => {}));
  socket.on('error', () => {});
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');

  async function answer(query: Buffer, from: RemoteInfo): Promise<void> {
    const question = parse(query);
    if (question === null || from.address !== '127.0.0.1') return;
    const { name, type, end } = question;
    const label = name.split('.', 1)[0]!;
    const found =
      name === HANDLERS_NAME ? null : name === `${label}.` ? (upstreams.get(label) ?? undefined) : undefined;
    const records =
      found === undefined
        ? null
        : found === null
          ? type === SRV
            ? [...upstreams].map(([one, { port }], index) => srvRecord(one, port, index))
            : []
          : (await addresses(found.host, type)).map((data) => record(type, data));
    const head = Buffer.alloc(QUESTION_AT);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8580 | (records === null ? NOT_FOUND : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records?.length ?? 0, 6);
    const bytes = Buffer.concat([head, query.subarray(QUESTION_AT, end), ...(records ?? [])]);
    socket.send(bytes, from.port, from.address, () => {});
  }

  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    set(given) {
      const labelled = new Map<string, Upstream>();
      for (const one of given.slice(0, UPSTREAMS_MAX)) {
        const at = one.lastIndexOf(':');
        const upstream = { host: one.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(one.slice(at + 1)) };
        labelled.set(labelOf(one, labelled), upstream);
      }
      upstreams = new Map([...labelled].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    close: () => socket.close(),
  };
}

/** A short label derived from the address, made unique if necessary. */
function labelOf(upstream: string, taken: ReadonlyMap<string, unknown>): string {
  for (let salt = 0; ; salt++) {
    const hash = createHash('sha256').update(`${salt} ${upstream}`).digest().readUInt32BE(0);
    const label = hash.toString(36).padStart(LABEL_CHARS, '0').slice(-LABEL_CHARS);
    if (!taken.has(label)) return label;
  }
}

/** The queried name in lower case, with a final dot; null means that the query does not have exactly one question. */
function parse(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } | null {
  if (query.length < QUESTION_AT + 5 || query.readUInt16BE(4) !== 1 || (query[2]! & 0xf8) !== 0) return null;
  let at = QUESTION_AT;
  let name = '';
  for (let length = query[at]!; length > 0; length = query[at]!) {
    if (length > 63 || at + 1 + length + 5 > query.length) return null;
    name += `${query.toString('latin1', at + 1, at + 1 + length)}.`;
    at += 1 + length;
  }
  return { name: name.toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(NAME_OF_QUESTION, 0);
  head.writeUInt16BE(type, 2);
  // The class is IN, and the time to live is 0.
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** Each record has a different priority, which keeps the order. */
function srvRecord(label: string, port: number, priority: number): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt16BE(priority, 0);
  head.writeUInt16BE(port, 4);
  return record(SRV, Buffer.concat([head, Buffer.from([label.length]), Buffer.from(label, 'latin1'), Buffer.of(0)]));
}

/** The addresses of a host that have this type, as bytes. */
async function addresses(host: string, type: number): Promise<Buffer[]> {
  if (type !== A && type !== AAAA) return [];
  const family = type === A ? 4 : 6;
  const found =
    isIP(host) !== 0
      ? [{ address: host, family: isIP(host) }]
      : await new Promise<LookupAddress[]>((resolve) =>
          lookup(host, { all: true, family }, (error, all) => resolve(error === null ? all : [])),
        );
  return found.filter((one) => one.family === family).map(({ address }) => bytesOf(address, family));
}

function bytesOf(address: string, family: 4 | 6): Buffer {
  if (family === 4) return Buffer.from(address.split('.').map(Number));
  const [front, back] = address.split('%', 1)[0]!.split('::') as [string, string?];
  const words = (text = ''): number[] => (text === '' ? [] : text.split(':').map((word) => parseInt(word, 16)));
  const [first, last] = [words(front), words(back)];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}
