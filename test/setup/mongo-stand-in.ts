// What the driver of MongoDB needs of a server, in memory: a stand-in of the wire (OP_MSG), not of the database.
import { createRequire } from 'node:module';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestServer } from './client-servers.ts';

interface Bson {
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array): Record<string, unknown>;
  readonly Long: { readonly ZERO: object };
}

const OP_MSG = 2013;
const OP_QUERY = 2004;
const OP_REPLY = 1;

/** Starts it; its collections keep what is inserted. */
export async function startMongoStandIn(): Promise<TestServer> {
  const { serialize, deserialize, Long } = createRequire(join(import.meta.dirname, '../clients/packages/package.json'))(
    'bson',
  ) as Bson;
  const kept: Record<string, unknown>[] = [];
  const hello = {
    ok: 1,
    helloOk: true,
    isWritablePrimary: true,
    ismaster: true,
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    minWireVersion: 0,
    maxWireVersion: 21,
    localTime: new Date(0),
  };
  const answer = (command: Record<string, unknown>, documents: readonly Record<string, unknown>[]): object => {
    if ('hello' in command || 'ismaster' in command || 'isMaster' in command) return hello;
    if ('insert' in command) {
      const inserted = documents.length > 0 ? documents : (command['documents'] as Record<string, unknown>[]);
      kept.push(...inserted);
      return { ok: 1, n: inserted.length };
    }
    if ('find' in command) {
      const wanted = Object.entries(command['filter'] as object);
      const firstBatch = kept.filter((one) => wanted.every(([key, value]) => one[key] === value));
      return { ok: 1, cursor: { id: Long.ZERO, ns: 'shop.notes', firstBatch } };
    }
    return { ok: 1 };
  };
  /** Sections of an OP_MSG: its command, and the documents beside it. */
  function sections(body: Buffer): [Record<string, unknown>, Record<string, unknown>[]] {
    let command: Record<string, unknown> = {};
    const documents: Record<string, unknown>[] = [];
    for (let at = 4; at < body.length;) {
      const kind = body[at++];
      const bytes = body.readInt32LE(at);
      if (kind === 0) command = deserialize(body.subarray(at, at + bytes));
      else {
        let from = body.indexOf(0, at + 4) + 1;
        for (; from < at + bytes; from += body.readInt32LE(from))
          documents.push(deserialize(body.subarray(from, from + body.readInt32LE(from))));
      }
      at += bytes;
    }
    return [command, documents];
  }
  function reply(message: Buffer): Buffer {
    const head = Buffer.alloc(16);
    const isQuery = message.readInt32LE(12) === OP_QUERY;
    const [command, documents] = isQuery ? [{ hello: 1 }, []] : sections(message.subarray(16));
    const document = serialize(answer(command, documents));
    const before = isQuery ? Buffer.alloc(20) : Buffer.alloc(5);
    if (isQuery) before.writeInt32LE(1, 16);
    head.writeInt32LE(16 + before.length + document.length, 0);
    head.writeInt32LE(message.readInt32LE(4), 8);
    head.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
    return Buffer.concat([head, before, document]);
  }
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 16 && rest.length >= rest.readInt32LE(0)) {
        socket.write(reply(rest.subarray(0, rest.readInt32LE(0))));
        rest = rest.subarray(rest.readInt32LE(0));
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
