// Sends messages to WebSocket echo servers: each connection has one message in progress and sends the next when its
// echo has arrived. Frames are written and counted without a library, so that the client uses little of the shared CPU.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { cpuMs, seconds, type Reading, type Target } from './load.ts';
import { percentile } from './statistics.ts';

/** Below 126, so that a frame's head has its short form. */
const payload = 'x'.repeat(64);
/** Every answer has the same length: a head of two bytes and the payload, not masked. */
const answerBytes = 2 + payload.length;

/** A text frame of a client. */
function frame(): Buffer {
  const mask = randomBytes(4);
  const bytes = Buffer.from(payload);
  for (let at = 0; at < bytes.length; at++) bytes[at]! ^= mask[at & 3]!;
  return Buffer.concat([Buffer.from([0x81, 0x80 | bytes.length]), mask, bytes]);
}

/** @throws {Error} with the status when the server does not open a WebSocket. */
export async function openSocket(target: Target): Promise<Socket> {
  const url = new URL(target.url);
  const socket = connect(Number(url.port), url.hostname);
  socket.setNoDelay(true);
  const head = [
    `GET ${url.pathname} HTTP/1.1`,
    `Host: ${target.host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  let answer = '';
  // A server may write it in parts.
  while (!answer.includes('\r\n\r\n')) answer += String((await once(socket, 'data'))[0]);
  const status = answer.slice(9, 12);
  if (status === '101') return socket;
  socket.destroy();
  throw new Error(
    status === '501' ? 'this listener answers WebSocket handshakes with 501 Not Implemented' : `it answers ${status}`,
  );
}

/** One round; the connections are opened before it and closed after it, outside the time that counts. */
export async function loadSockets(target: Target, connections: number): Promise<Reading> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(target)));
  const latencies: number[] = [];
  let messages = 0;
  let broken = 0;
  let running = true;
  const [before, entriesBefore] = [cpuMs(target.pid), await target.entries?.()];
  const began = performance.now();
  for (const socket of sockets) {
    const message = frame();
    let sentAt = performance.now();
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
      if (received < answerBytes) return;
      received -= answerBytes;
      if (!running) return;
      messages++;
      const now = performance.now();
      // Every eighth is enough for the percentiles.
      if ((messages & 7) === 0) latencies.push(now - sentAt);
      sentAt = now;
      socket.write(message);
    });
    socket.on('error', () => {});
    socket.on('close', () => void (running && broken++));
    socket.write(message);
  }
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  running = false;
  const tookMs = performance.now() - began;
  const usedMs = cpuMs(target.pid) - before;
  const entries = ((await target.entries?.()) ?? Number.NaN) - (entriesBefore ?? 0);
  for (const socket of sockets) socket.destroy();
  return {
    cpuUs: (usedMs * 1000) / messages,
    perSecond: (messages * 1000) / tookMs,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    bad: broken,
    mbPerCpuSecond: (messages * answerBytes) / 1000 / usedMs,
    joined: messages / entries,
  };
}
