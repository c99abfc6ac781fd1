// The way to the AI gateway as programs in a sandbox know it: a port of the sandbox's own loopback, each connection to
// which is one to the service. What may be asked there the service decides (../ai-door.ts).
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';

const AI_PORT = 3129;
/** What programs are told. */
export const AI_URL = `http://127.0.0.1:${AI_PORT}/ai`;
/** The topic of a stream to it. */
export const AI_TOPIC = 'ai';

export function startAiDoor(open: (topic: string) => Duplex): void {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    let outside: Duplex;
    try {
      outside = open(AI_TOPIC);
    } catch {
      return void client.destroy();
    }
    outside.on('error', () => {});
    outside.pipe(client).pipe(outside);
    outside.once('close', () => client.destroy());
    client.once('close', () => outside.destroy());
  });
  // What has taken the port lies in this sandbox.
  server.on('error', () => {});
  server.listen(AI_PORT, '127.0.0.1');
}
