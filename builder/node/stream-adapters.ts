// Converts between Node's and Web streams, with back-pressure both ways; readable-stream leaves these functions empty.
// Bundled with node:stream.

type Done = (error?: Error | null) => void;

/** The parts of Node's streams used in this file. */
export interface NodeStream {
  on(name: string, listener: (...args: never[]) => void): this;
  once(name: string, listener: (...args: never[]) => void): this;
  destroy(error?: unknown): this;
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
  pause(): this;
  resume(): this;
  push(chunk: unknown): boolean;
  write(chunk: unknown, done: Done): boolean;
  end(done?: Done): this;
}
type Streams = Readonly<Record<'Readable' | 'Writable' | 'Duplex', new (options: object) => NodeStream>>;
type WebReadable = ReadableStream<unknown>;
type WebWritable = WritableStream<unknown>;

/** Invokes a Node stream's callback when the promise of the Web stream settles. */
function settle(promise: Promise<unknown>, done: Done): void {
  promise.then(
    () => done(),
    (error: Error) => done(error),
  );
}

function reading(stream: WebReadable) {
  const reader = stream.getReader();
  return {
    read(this: NodeStream): void {
      reader.read().then(
        ({ done, value }) => this.push(done ? null : value),
        (error: unknown) => this.destroy(error),
      );
    },
    cancel: (error: unknown): Promise<void> => reader.cancel(error).catch(() => {}),
  };
}

function writing(stream: WebWritable) {
  const writer = stream.getWriter();
  writer.closed.catch(() => {});
  return {
    write: (chunk: unknown, _encoding: string, done: Done) =>
      settle(Promise.all([writer.ready, writer.write(chunk)]), done),
    final: (done: Done) => settle(writer.close(), done),
    abort: (error: unknown): Promise<void> => writer.abort(error).catch(() => {}),
  };
}

/** `fromWeb` and `toWeb` for the three kinds. */
export function webAdapters({ Readable, Writable, Duplex }: Streams) {
  const readableFromWeb = (stream: WebReadable, options: object = {}): NodeStream => {
    const { read, cancel } = reading(stream);
    return new Readable({
      highWaterMark: 0,
      ...options,
      read,
      destroy: (error: Error | null, done: Done) => void cancel(error ?? undefined).then(() => done(error)),
    });
  };
  const readableToWeb = (stream: NodeStream): WebReadable => {
    let over = false;
    return new ReadableStream({
      start(controller) {
        stream.pause();
        stream.on('data', (chunk: Uint8Array | string) => {
          // A Buffer may be a part of a pool, so the reader gets its own view.
          controller.enqueue(ArrayBuffer.isView(chunk) ? new Uint8Array(chunk) : chunk);
          if ((controller.desiredSize ?? 0) <= 0) stream.pause();
        });
        stream.once('end', () => {
          over = true;
          controller.close();
        });
        stream.on('error', (error: Error) => {
          if (!over) controller.error(error);
          over = true;
        });
        stream.once('close', () => {
          if (!over)
            controller.error(Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }));
          over = true;
        });
      },
      pull: () => void stream.resume(),
      cancel: (reason) => {
        over = true;
        stream.destroy(reason);
      },
    });
  };
  const writableFromWeb = (stream: WebWritable, options: object = {}): NodeStream => {
    const { write, final, abort } = writing(stream);
    const destroy = (error: Error | null, done: Done): void => {
      if (error === null) done();
      else void abort(error).then(() => done(error));
    };
    return new Writable({ ...options, write, final, destroy });
  };
  const writableToWeb = (stream: NodeStream): WebWritable => {
    const outcome = (run: (done: Done) => unknown): Promise<void> =>
      new Promise((resolve, reject) => {
        run((error) => (error ? reject(error) : resolve()));
      });
    return new WritableStream({
      start: (controller) => void stream.on('error', (error: Error) => controller.error(error)),
      write: (chunk) => outcome((done) => stream.write(chunk, done)),
      close: () => outcome((done) => stream.end(done)),
      abort: (reason) => void stream.destroy(reason),
    });
  };
  const duplexFromWeb = (
    pair: { readonly readable: WebReadable; readonly writable: WebWritable },
    options: object = {},
  ): NodeStream => {
    const [{ read, cancel }, { write, final, abort }] = [reading(pair.readable), writing(pair.writable)];
    const destroy = (error: Error | null, done: Done): void =>
      void Promise.all([cancel(error ?? undefined), ...(error === null ? [] : [abort(error)])]).then(() => done(error));
    return new Duplex({ ...options, read, write, final, destroy });
  };
  return {
    Readable: { fromWeb: readableFromWeb, toWeb: readableToWeb },
    Writable: { fromWeb: writableFromWeb, toWeb: writableToWeb },
    Duplex: {
      fromWeb: duplexFromWeb,
      toWeb: (stream: NodeStream) => ({ readable: readableToWeb(stream), writable: writableToWeb(stream) }),
    },
  };
}
