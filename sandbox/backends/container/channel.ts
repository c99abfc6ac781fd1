// The host's end of a container's standard streams: removes the engine's headers, and carries all connections to the
// agent and out of the sandbox. The input is untrusted.
import { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { EngineApi } from './engine-api.ts';
import { lead, type NarrowedEgress } from './egress.ts';
import { AI_TOPIC } from './inside/ai-listener.ts';
import { openStreams } from './inside/streams.ts';

/** A connection to the program inside a container. */
export interface Channel {
  connect(): Duplex;
  /** Resolves when the connection is lost. */
  readonly lost: Promise<void>;
  close(): void;
}

/** How long a container may take to stop after its program exited, and the polling interval. */
const ENDING_MS = 3000;
const LOOK_MS = 50;
const HEADER_BYTES = 8;
const STDOUT = 1;
/** The engine's header precedes each chunk of output. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;

/** The container's raw output and input. */
class Unwrapped extends Duplex {
  #socket: Duplex;
  #header = Buffer.alloc(0);
  #left = 0;
  #isOutput = false;

  constructor(socket: Duplex) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        const wanted = HEADER_BYTES - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, wanted)]);
        rest = rest.subarray(wanted);
        if (this.#header.length < HEADER_BYTES) return;
        this.#left = this.#header.readUInt32BE(4);
        // Frames of the other stream, which podman sends although not requested.
        this.#isOutput = this.#header[0] === STDOUT;
        this.#header = Buffer.alloc(0);
        if (this.#left > CHUNK_BYTES_MAX) return void this.destroy(new Error('the engine sends no stream'));
        continue;
      }
      const part = rest.subarray(0, this.#left);
      this.#left -= part.length;
      rest = rest.subarray(part.length);
      if (this.#isOutput && !this.push(part)) this.#socket.pause();
    }
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/**
 * Attaches to a container.
 *
 * @param afterAttach starts the program, if it is not running yet.
 * @throws {PlatformError} `sandbox_lost` when the program inside does not answer in time.
 */
export async function openChannel(given: {
  readonly api: EngineApi;
  readonly container: string;
  readonly egress: NarrowedEgress;
  /** Handles connections to the AI gateway, or null. */
  readonly ai: ((connection: Duplex) => void) | null;
  readonly answerMs: number;
  readonly afterAttach?: () => Promise<void>;
}): Promise<Channel> {
  const { api, container, egress, ai, answerMs, afterAttach } = given;
  const channel = new Unwrapped(await api.attach(container));
  let hasEnded = false;
  const greeted = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  greeted.promise.catch(() => {});
  const streams = openStreams({
    channel,
    greets: true,
    onOpen: (topic, stream) => (topic === AI_TOPIC && ai !== null ? ai(stream) : lead(topic, stream, egress)),
    onGreeted: () => greeted.resolve(),
    onLost(error) {
      hasEnded = true;
      greeted.reject(new PlatformError('sandbox_lost', { reason: `its program ended (${error.message})` }));
      lost.resolve();
    },
  });
  const late = setTimeout(() => {
    greeted.reject(new PlatformError('sandbox_lost', { reason: `its program did not answer within ${answerMs} ms` }));
  }, answerMs);
  try {
    await afterAttach?.();
    await greeted.promise;
  } catch (error) {
    streams.close();
    // The next start must see it as stopped: podman stops a sandbox shortly after the attached service disconnects.
    if (hasEnded) await untilStopped(api, container);
    throw error;
  } finally {
    clearTimeout(late);
  }
  return {
    connect: () => streams.open('agent'),
    lost: lost.promise,
    close: () => streams.close(),
  };
}

async function untilStopped(api: EngineApi, container: string): Promise<void> {
  const until = performance.now() + ENDING_MS;
  while (performance.now() < until) {
    const found = await api
      .call<{ State: { Running: boolean } }>('GET', `/containers/${container}/json`)
      .catch(() => null);
    if (found === null || !found.State.Running) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
