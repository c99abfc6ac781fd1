// A mail server on a real socket, from the library smtp-server: keeps what it accepts, and refuses or fails as a test
// says. Its certificate is made by openssl; a client trusts it by `ca`. And servers that do not speak SMTP properly.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** An email that was accepted. */
interface Accepted {
  readonly from: string;
  readonly to: readonly string[];
  /** User that signed in; null: none. */
  readonly user: string | null;
  readonly isSecure: boolean;
  /** Headers and body. */
  readonly source: string;
}

/** A mail server of a test. */
export interface TestSmtp {
  readonly port: number;
  readonly accepted: Accepted[];
  /** Responses to commands by their first word and argument, such as `RCPT bounce@example.com`; undefined: accepted. */
  refusals: Record<string, { readonly code: number; readonly text: string } | undefined>;
  close(): Promise<void>;
}

/** User name and password that it accepts. */
export const SMTP_LOGIN = { user: 'platform', password: 'p@ss:word/1' } as const;

/** A certificate for `localhost`, and its key. */
export function makeCertificate(name = 'localhost'): { readonly cert: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'platform-certificate-'));
  try {
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    execFileSync(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${name} -addext subjectAltName=DNS:${name} -keyout ${key} -out ${cert}`.split(
        ' ',
      ),
      { stdio: 'ignore' },
    );
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Starts it. @param options of the library: `secure` for TLS from the start, `hideSTARTTLS`, `authOptional`. */
export async function startSmtp(options: SMTPServerOptions = {}): Promise<TestSmtp> {
  const accepted: Accepted[] = [];
  const refusalOf = (command: string): Error | null => {
    const found = smtp.refusals[command];
    return found === undefined ? null : Object.assign(new Error(found.text), { responseCode: found.code });
  };
  const server = new SMTPServer({
    disableReverseLookup: true,
    logger: false,
    onAuth({ username, password }, _session, callback) {
      const isRight = username === SMTP_LOGIN.user && password === SMTP_LOGIN.password;
      const sent = Buffer.from(`\0${username}\0${password}`).toString('base64');
      const refused = Object.assign(new Error(`Password ${password} is wrong: ${sent}`), { responseCode: 535 });
      callback(isRight ? null : refused, isRight ? { user: username } : undefined);
    },
    onMailFrom: ({ address }, _session, callback) => callback(refusalOf(`MAIL ${address}`)),
    onRcptTo: ({ address }, _session, callback) => callback(refusalOf(`RCPT ${address}`)),
    onData(stream, session, callback) {
      void text(stream).then((source) => {
        const refused = refusalOf('DATA');
        if (refused !== null) return callback(refused);
        const { mailFrom, rcptTo } = session.envelope;
        accepted.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: (session.user as string | undefined) ?? null,
          isSecure: session.secure,
          source,
        });
        callback(null);
      });
    },
    ...options,
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const smtp: TestSmtp = {
    port: (listening.address() as AddressInfo).port,
    accepted,
    refusals: {},
    close: () => new Promise((done) => server.close(() => done())),
  };
  return smtp;
}

/** A server that does to each connection what a test says. */
export async function startRawServer(
  handle: (socket: Socket) => void,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    handle(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
