// Messages that never end, each 30 MB that came as 30 KB: those of one deployment hold what it may hold, and no more.
import { constants, deflateRawSync } from 'node:zlib';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const SOCKETS = 20;
const handshake =
  'GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n';

/** The first frame of a compressed message, masked with zeros. */
function firstFrame(): Buffer {
  const content = deflateRawSync(Buffer.alloc(30 * 1024 * 1024), { finishFlush: constants.Z_SYNC_FLUSH });
  const head = Buffer.alloc(8);
  head.writeUInt8(0x42, 0);
  head.writeUInt8(0x80 | 126, 1);
  head.writeUInt16BE(content.length, 2);
  return Buffer.concat([head, content]);
}

export default {
  kind: 'protocol',
  worker: attacker(
    `const pair = new WebSocketPair(); pair[1].accept(); return new Response(null, { status: 101, webSocket: pair[0] });`,
  ),
  async attack({ socket }) {
    const frame = firstFrame();
    const ping = Buffer.from('898000000000', 'hex');
    const kept = await Promise.all(
      Array.from({ length: SOCKETS }, async () => {
        const opened = await socket();
        let bytes = Buffer.alloc(0);
        let isSent = false;
        return new Promise<boolean>((resolve) => {
          opened.on('data', (chunk: Buffer) => {
            bytes = Buffer.concat([bytes, chunk]);
            if (!isSent && bytes.includes('\r\n\r\n')) {
              isSent = true;
              opened.write(Buffer.concat([frame, ping]));
            } else if (bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).includes(Buffer.from('8a00', 'hex')))
              resolve(true);
          });
          opened.on('error', () => {});
          opened.on('close', () => resolve(false));
          opened.write(handshake);
        });
      }),
    );
    return kept.filter(Boolean).length > 8 ? 'more than 256 MB are held' : 'few are kept';
  },
  expect: 'few are kept',
} satisfies Attack;
