// A name server on this machine, over UDP: what it answers to each name is up to the test. Speaks as much of RFC 1035
// as c-ares asks.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** What a name is answered with: addresses, texts or an alias, `unknown` (NXDOMAIN), or `silence`. */
export type DnsAnswer =
  | readonly string[]
  | { readonly txt?: readonly string[]; readonly cname?: string }
  | 'unknown'
  | 'silence';

/** A running server. */
export interface DnsServer {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  /** Names that were asked for, each with its type. */
  readonly asked: string[];
  /** Resolves when that name has been asked for, or at once when it has been. */
  asking(name: string): Promise<void>;
  close(): void;
}

const A = 1;
const CNAME = 5;
const TXT = 16;
const AAAA = 28;

/** @param answer called for each question; `count` is how often the name was asked for its IPv4 addresses before. */
export async function startDnsServer(answer: (name: string, count: number) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  const counts = new Map<string, number>();
  const waiting: { name: string; resolve: () => void }[] = [];
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    const type = query.readUInt16BE(at + 1);
    const count = counts.get(name) ?? 0;
    if (type === A) counts.set(name, count + 1);
    asked.push(`${name} ${type === A ? 'A' : type === AAAA ? 'AAAA' : type}`);
    for (const one of waiting) if (one.name === name) one.resolve();
    const says = answer(name, count);
    if (says === 'silence') return;
    const records = recordsOf(says, type);
    const question = query.subarray(12, at + 5);
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(says === 'unknown' ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, question, ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    asked,
    asking: (name) =>
      asked.some((line) => line.startsWith(`${name} `))
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ name, resolve: () => resolve() })),
    close: () => socket.close(),
  };
}

function recordsOf(says: Exclude<DnsAnswer, 'silence'>, type: number): Buffer[] {
  if (says === 'unknown') return [];
  if ('txt' in says || 'cname' in says) {
    if (type === TXT) return (says.txt ?? []).map((text) => record(type, counted(text)));
    return type === CNAME && says.cname !== undefined ? [record(type, nameBytes(says.cname))] : [];
  }
  return (says as readonly string[])
    .filter((address) => (type === A ? !address.includes(':') : type === AAAA && address.includes(':')))
    .map((address) =>
      record(type, type === A ? Buffer.from(address.split('.').map(Number)) : Buffer.from(expand(address), 'hex')),
    );
}

/** A text of up to 255 characters behind its length. */
function counted(text: string): Buffer {
  return Buffer.from([text.length, ...Buffer.from(text, 'latin1')]);
}

function nameBytes(name: string): Buffer {
  return Buffer.concat([...name.split('.').map(counted), Buffer.from([0])]);
}

function record(type: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(12);
  // The name is that of the question.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(0, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

function expand(address: string): string {
  const [before = '', after = ''] = address.split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after === '' ? [] : after.split(':');
  const groups = address.includes('::')
    ? [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
    : left;
  return groups.map((group) => group.padStart(4, '0')).join('');
}
