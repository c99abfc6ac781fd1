// `connect()` of cloudflare:sockets against TCP servers of this machine: both directions, TLS, startTls, half-open
// connections, and where sockets end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { createSecureContext, getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { makeCertificate } from '#test/setup/smtp-server.ts';

const worker = `
import { connect } from 'cloudflare:sockets';
const encode = (text) => new TextEncoder().encode(text);
const text = async (readable) => { let all = ''; for await (const chunk of readable) all += new TextDecoder().decode(chunk); return all; };
const line = async (reader) => { const { value } = await reader.read(); return value === undefined ? null : new TextDecoder().decode(value); };
const failed = async (run) => { try { return await run(); } catch ({ name, code, message }) { return { name, code, message }; } };
const failures = async (...runs) => Response.json(await Promise.all(runs.map(async (run) => { const { code, name } = (await failed(run)) ?? {}; return code ?? name ?? 'nothing'; })));
let kept;
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    const port = Number(searchParams.get('port'));
    const hostname = searchParams.get('host') ?? 'localhost';
    if (pathname === '/echo') {
      const socket = connect('127.0.0.1:' + port);
      const writer = socket.writable.getWriter();
      await writer.write(encode('hello'));
      const info = await socket.opened;
      await writer.close();
      const answer = await text(socket.readable);
      await socket.closed;
      return Response.json({ answer, remote: info.remoteAddress, local: typeof info.localAddress, transport: socket.secureTransport, upgraded: socket.upgraded });
    }
    if (pathname === '/many') {
      const socket = connect({ hostname, port }, { allowHalfOpen: true });
      const bytes = Number(searchParams.get('bytes'));
      const writing = (async () => {
        const writer = socket.writable.getWriter();
        for (let left = bytes; left > 0; left -= 500_000) await writer.write(new Uint8Array(Math.min(left, 500_000)).fill(7));
        await writer.close();
      })();
      let seen = 0;
      for await (const chunk of socket.readable) seen += chunk.byteLength;
      await writing;
      return Response.json(seen);
    }
    if (pathname === '/open') return Response.json(await failed(async () => { const socket = connect({ hostname, port }, { secureTransport: searchParams.get('tls') ?? 'off' }); await socket.opened; await socket.close(); return 'opened and closed'; }));
    if (pathname === '/through') { const socket = connect({ hostname, port }); await socket.opened; return new Response(socket.readable); }
    if (pathname === '/starttls') {
      const socket = connect({ hostname, port }, { secureTransport: 'starttls' });
      const writer = socket.writable.getWriter();
      const reader = socket.readable.getReader();
      const lines = [await line(reader)];
      await writer.write(encode('starttls'));
      lines.push(await line(reader));
      const name = searchParams.get('name');
      const secure = socket.startTls(name === null ? {} : { expectedServerHostname: name });
      const again = await failed(() => socket.startTls());
      const problem = await failed(async () => { await secure.opened; await socket.closed; });
      if (problem) return Response.json({ lines, problem, upgraded: socket.upgraded });
      const [safeWriter, safeReader] = [secure.writable.getWriter(), secure.readable.getReader()];
      await safeWriter.write(encode('secret'));
      lines.push(await line(safeReader));
      await secure.close();
      return Response.json({ lines, upgraded: socket.upgraded, transports: [socket.secureTransport, secure.secureTransport], again: again.name, rest: await line(reader) });
    }
    if (pathname === '/half') {
      const socket = connect({ hostname, port }, { allowHalfOpen: searchParams.has('open') });
      const writer = socket.writable.getWriter();
      const before = await text(socket.readable);
      const after = await failed(() => writer.write(encode('late')));
      await failed(() => writer.close());
      await socket.closed;
      return Response.json([before, after ?? 'written']);
    }
    if (pathname === '/closing') return failures(
      async () => { const socket = connect({ hostname, port }); await socket.opened; const writer = socket.writable.getWriter(); await socket.close(); await writer.write(encode('late')); },
      async () => connect({ hostname, port }).writable.getWriter().write('text'),
      () => connect({ hostname, port }).startTls(),
      () => connect(hostname),
      () => connect({ hostname, port: 70_000 }),
      () => connect({ hostname, port }, { secureTransport: 'perhaps' }),
    );
    if (pathname === '/leave') { kept = connect({ hostname, port }); await kept.opened; return new Response('left open'); }
    if (pathname === '/kept') return Response.json([await failed(() => kept.closed), await failed(() => kept.readable.getReader().read())]);
    if (pathname === '/slots') {
      const sockets = Array.from({ length: 12 }, () => connect({ hostname, port }));
      return Response.json((await Promise.all(sockets.map((socket) => failed(async () => { await socket.opened; })))).map((error) => error?.code ?? 'open'));
    }
    return new Response('?');
  },
};`;

let handler: TestHandler;
let certificate: ReturnType<typeof makeCertificate>;
let trusted: readonly string[];
const servers: Server[] = [];
const connections = new Set<Socket>();

/** A server that does to each connection what a test says. @returns its port. */
async function serve(handle: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket)).on('error', () => {});
    handle(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const secureContext = () => createSecureContext(certificate);
const echo = (): Promise<number> => serve((socket) => socket.pipe(socket));
const asked = async (path: string): Promise<unknown> => (await handler.fetch('shop', path)).json();

before(async () => {
  certificate = makeCertificate();
  trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificate.cert]);
  handler = await startHandler({ shop: worker }, { subrequestsMax: 10 });
});
after(async () => {
  setDefaultCACertificates(trusted);
  for (const socket of connections) socket.destroy();
  for (const server of servers) server.close();
  await handler.close();
});

test('a worker writes and reads over a TCP connection', async () => {
  const port = await echo();
  assert.deepEqual(await asked(`/echo?port=${port}`), {
    answer: 'hello',
    remote: `127.0.0.1:${port}`,
    local: 'string',
    transport: 'off',
    upgraded: false,
  });
});

test('20 MB go out and come back', async () => {
  assert.equal(await asked(`/many?port=${await echo()}&bytes=20000000`), 20_000_000);
});

test('what arrives is a body', async () => {
  const port = await serve((socket) => socket.end('from the server'));
  assert.equal((await handler.fetch('shop', `/through?port=${port}`)).text, 'from the server');
});

test('a connection that is refused has the code of Node', async () => {
  assert.equal(((await asked('/open?port=1')) as { code: string }).code, 'ECONNREFUSED');
});

test('with TLS from the start, the certificate has to name the host', async () => {
  const port = await serve((socket) => {
    new TLSSocket(socket, { isServer: true, secureContext: secureContext() }).on('error', () => {}).resume();
  });
  assert.equal(await asked(`/open?tls=on&port=${port}`), 'opened and closed');
  const { code } = (await asked(`/open?tls=on&host=127.0.0.1&port=${port}`)) as { code: string };
  assert.equal(code, 'ERR_TLS_CERT_ALTNAME_INVALID');
});

test('a certificate of an unknown authority is refused', async () => {
  const unknown = makeCertificate();
  const port = await serve((socket) => {
    new TLSSocket(socket, { isServer: true, ...unknown }).on('error', () => {}).resume();
  });
  const { code } = (await asked(`/open?tls=on&port=${port}`)) as { code: string };
  assert.equal(code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
});

async function serveStartTls(): Promise<number> {
  return serve((socket) => {
    socket.write('ready');
    socket.once('data', (chunk) => {
      socket.write(`yes to ${String(chunk)}`, () => {
        const secure = new TLSSocket(socket, { isServer: true, secureContext: secureContext() });
        secure.on('error', () => {}).on('data', (data) => secure.write(`safe: ${String(data)}`));
      });
    });
  });
}

test('startTls continues with TLS after what was written, once', async () => {
  assert.deepEqual(await asked(`/starttls?port=${await serveStartTls()}`), {
    lines: ['ready', 'yes to starttls', 'safe: secret'],
    upgraded: true,
    transports: ['starttls', 'on'],
    again: 'TypeError',
    rest: null,
  });
});

test('startTls fails when the server is another than expected', async () => {
  const { problem } = (await asked(`/starttls?name=other.example&port=${await serveStartTls()}`)) as {
    problem: { code: string };
  };
  assert.equal(problem.code, 'ERR_TLS_CERT_ALTNAME_INVALID');
});

test('the end of what arrives ends the socket, unless it may be half open', async () => {
  let heard = '';
  const port = await serve((socket) => {
    socket.on('data', (chunk) => (heard += String(chunk)));
    socket.end('bye');
  });
  const [before, after] = (await asked(`/half?port=${port}`)) as [string, { code: string }];
  assert.deepEqual([before, after.code], ['bye', 'EPIPE']);
  assert.deepEqual(await asked(`/half?open&port=${port}`), ['bye', 'written']);
  assert.equal(heard, 'late');
});

test('a write after the end, a text, a wrong address or option are refused', async () => {
  assert.deepEqual(await asked(`/closing?port=${await echo()}`), [
    'EPIPE',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
  ]);
});

test('a socket ends with its invocation', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const port = await serve((socket) => socket.once('end', resolve).resume());
  assert.equal((await handler.fetch('shop', `/leave?port=${port}`)).text, 'left open');
  await closed;
  const [, read] = (await asked(`/kept?port=${port}`)) as [unknown, { message: string }];
  assert.match(read.message, /The invocation of this body has ended/);
});

test('each socket counts as a subrequest', async () => {
  const codes = (await asked(`/slots?port=${await echo()}`)) as string[];
  assert.equal(codes.filter((code) => code === 'open').length, 10);
  assert.equal(codes.filter((code) => code === 'subrequest_limit_exceeded').length, 2);
});
