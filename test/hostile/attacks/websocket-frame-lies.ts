// WebSocket frames that lie about their length, lack their mask, or use reserved bits: each closes its socket, and only
// that.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const handshake =
  'GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const frames = {
  'too long': '81ff7fffffffffffffff00000000',
  'no mask': '8105',
  'reserved bits': 'f18000000000',
  'reserved opcode': '838000000000',
  'half a close code': '88810000000003',
};

export default {
  kind: 'protocol',
  worker: attacker(
    `const pair = new WebSocketPair(); pair[1].accept(); pair[1].addEventListener('message', (event) => pair[1].send(String(event.data.length))); return new Response(null, { status: 101, webSocket: pair[0] });`,
  ),
  async attack({ socket }) {
    const seen: string[] = [];
    for (const [lie, frame] of Object.entries(frames)) {
      const opened = await socket();
      let bytes = Buffer.alloc(0);
      const ended = new Promise<void>((resolve) => void opened.on('close', () => resolve()));
      opened.on('data', (chunk: Buffer) => {
        const headCame = bytes.includes('\r\n\r\n');
        bytes = Buffer.concat([bytes, chunk]);
        if (!headCame && bytes.includes('\r\n\r\n')) opened.write(Buffer.from(frame, 'hex'));
      });
      opened.on('end', () => opened.end());
      opened.setTimeout(10_000, () => opened.destroy());
      opened.write(handshake);
      await ended;
      const close = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
      seen.push(`${lie} ${bytes.toString('latin1', 9, 12)} ${close[0] === 0x88 ? close.readUInt16BE(2) : 'no close'}`);
    }
    return seen.join(', ');
  },
  expect:
    'too long 101 1009, no mask 101 1002, reserved bits 101 1002, reserved opcode 101 1002, half a close code 101 1002',
} satisfies Attack;
