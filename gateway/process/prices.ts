// The price table: a file edited by the operator, reloaded when it changes.
import { readFileSync, statSync } from 'node:fs';
import Type, { Compile } from '#core/typebox/typebox.mjs';
import type { GatewayDeps, Price } from '../contract/contract.ts';

const LOOK_MS = 5000;
const schema = Compile(
  Type.Record(
    Type.String(),
    Type.Object(
      { prompt: Type.Number({ minimum: 0 }), completion: Type.Number({ minimum: 0 }) },
      { additionalProperties: false },
    ),
  ),
);

interface Prices {
  readonly price: GatewayDeps['price'];
  close(): void;
}

/** @param file null if no model has a price. @throws {Error} when the file cannot be read or is invalid. */
export function openPrices(file: string | null, log: GatewayDeps['log'], lookMs: number = LOOK_MS): Prices {
  if (file === null) return { price: () => null, close() {} };
  let known = stampOf(file);
  let prices = readPrices(file);
  const look = (): void => {
    const stamp = stampOf(file);
    if (stamp === known) return;
    // Read before the file, so that a change during the read is noticed the next time.
    known = stamp;
    try {
      prices = readPrices(file);
      log('info', 'the price table was reloaded', { models: prices.size });
    } catch (error) {
      log('error', `the price table was not reloaded: ${(error as Error).message}`, {});
    }
  };
  const timer = setInterval(look, lookMs);
  return { price: (model) => prices.get(model) ?? null, close: () => clearInterval(timer) };
}

/** Changes when the file is written, replaced or deleted. */
function stampOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}

/** @throws {Error} naming the file and the problem. */
export function readPrices(file: string): ReadonlyMap<string, Price> {
  const value = parse(file);
  if (!schema.Check(value)) {
    const [first] = schema.Errors(value);
    const at = first === undefined ? '' : ` at ${first.instancePath || '/'}: ${first.message}`;
    throw new Error(`AI_PRICES_FILE ${file} must be {"provider/model": {"prompt": number, "completion": number}}${at}`);
  }
  return new Map(Object.entries(value));
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new Error(`AI_PRICES_FILE ${file} cannot be read: ${name === 'SyntaxError' ? 'it is not JSON' : code}`, {
      cause: error,
    });
  }
}
