// The AI gateway's endpoint inside a sandbox: a port on its loopback interface whose connections are forwarded to the
// service, which decides about access (../ai-proxy.ts).
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';

const AI_PORT = 3129;
/** The URL for programs. */
export const AI_URL = `http://127.0.0.1:${AI_PORT}/ai`;
/** The topic of its streams. */
export const AI_TOPIC = 'ai';

export function startAiListener(open: (topic: string) => Duplex): void {
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
  // The port is taken by a process of this sandbox.
  server.on('error', () => {});
  server.listen(AI_PORT, '127.0.0.1');
}
