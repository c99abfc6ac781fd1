// `cloudflare:workflows`: the error by which a step prevents retries. Bundled by cloudflare-modules.ts.

export class NonRetryableError extends Error {
  constructor(message: string, name = 'NonRetryableError') {
    super(message);
    this.name = name;
  }
}

// The guest recognises instances by this property, even if their name was changed.
Object.defineProperty(NonRetryableError.prototype, Symbol.for('platform.nonRetryable'), { value: true });
