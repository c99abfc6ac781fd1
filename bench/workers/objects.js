// The worker of objects.bench.ts on our side.
import { answer, benchOf } from './object-operations.js';

class Base {
  constructor(ctx) {
    this.ctx = ctx;
  }
}

export class Bench extends benchOf(Base) {}

export default { fetch: answer };
