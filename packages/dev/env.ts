// The `env` of a worker for code in Node: variables, and bindings that call the platform. Exported by index.ts.
import { createBinding } from './bindings.ts';
import { Connection, type Address, type Description } from './connection.ts';
import { Database } from './database.ts';
import { Files, toFile } from './files.ts';
import { createSandboxes } from './sandboxes.ts';
import { giveForm } from './values.ts';

/** Requests the description of the bindings and creates the bindings. */
export async function connect(address: Address): Promise<Record<string, unknown>> {
  const connection = new Connection(address, { file: toFile });
  return createEnv(connection, await connection.describe());
}

function createEnv(connection: Connection, { bindings, vars }: Description): Record<string, unknown> {
  const env: Record<string, unknown> = Object.assign(Object.create(null), vars);
  env['vars'] = Object.assign(Object.create(null), vars);
  let users: object | null = null;
  for (const [name, kind] of Object.entries(bindings)) {
    // A project has one set of users, under two names.
    const known: object | null = kind === 'auth' ? users : null;
    // A binding passed to another, as in `tx.send(env.MAIL, ...)`, is sent by name.
    const binding: object = known ?? giveForm(bindingOf(connection, name, kind), () => ({ $binding: name }));
    if (kind === 'auth') users = binding;
    env[name] = binding;
  }
  return env;
}

function bindingOf(connection: Connection, name: string, kind: string): object {
  switch (kind) {
    case 'db':
      return new Database(connection, name);
    case 'fs':
      return new Files(connection, name);
    case 'sandbox':
      return createSandboxes(connection, name);
    case 'assets':
    case 'none':
      return unsupported(name, kind);
    default:
      return createBinding(connection, name, kind);
  }
}

function unsupported(name: string, kind: string): object {
  return new Proxy(Object.freeze({}), {
    get(_target, property) {
      if (typeof property === 'symbol' || property === 'then') return undefined;
      throw new Error(`env.${name}.${property} is not available in Node (${kind})`);
    },
  });
}
