// Servers of the Model Context Protocol on a real socket, made with the packages that their authors use: those of
// test/packages, of both eras.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

/** What a server was asked, by method and header. */
interface McpAsked {
  readonly path: string;
  readonly headers: Headers;
  readonly body: { readonly method?: string; readonly params?: { readonly name?: string } } | null;
}

export interface McpServers {
  readonly url: string;
  readonly asked: McpAsked[];
  /** What a path answers; null: it does not any more. */
  serve(path: string, answer: ((request: Request) => Response | Promise<Response>) | null): void;
  /** As a restart of a server with sessions: it knows none any more. */
  forgetSessions(): void;
  close(): Promise<void>;
}

const require = createRequire(join(import.meta.dirname, '../packages/package.json'));

/** A package of test/packages: none of the repository's own dependencies. */
export const loadPackage = async (name: string): Promise<any> => import(pathToFileURL(require.resolve(name)).href);

/** Starts them: `/sdk` with sessions and streams, `/stateless`, `/both`, and what a test serves besides. */
export async function startMcpServers(): Promise<McpServers> {
  const asked: McpAsked[] = [];
  const sessions = new Map<string, { handleRequest(request: Request): Promise<Response> }>();
  const paths = new Map<string, (request: Request) => Response | Promise<Response>>();
  const { createMcpHandler, McpServer } = await loadPackage('@modelcontextprotocol/server');
  const { McpServer: SdkServer } = await loadPackage('@modelcontextprotocol/sdk/server/mcp.js');
  const { WebStandardStreamableHTTPServerTransport: Transport } = await loadPackage(
    '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js',
  );
  const { z } = await loadPackage('zod');
  const shape = { a: z.number(), b: z.number() };
  const add = ({ a, b }: { a: number; b: number }): object => ({ content: [{ type: 'text', text: String(a + b) }] });
  const fails = (): object => ({ isError: true, content: [{ type: 'text', text: 'no such thing' }] });
  const picture = (): object => ({ content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] });
  const withTools = (server: any, isSdk: boolean): any => {
    server.registerTool(
      'add',
      { description: 'Adds', inputSchema: isSdk ? shape : z.object(shape) },
      async (args: any) => add(args),
    );
    server.registerTool('fails', { description: 'Fails' }, async () => fails());
    server.registerTool('picture', { description: 'Draws' }, async () => picture());
    return server;
  };
  const make = (): unknown => withTools(new McpServer({ name: 'two', version: '1.0.0' }), false);
  const stateless = createMcpHandler(make, { legacy: 'reject' });
  const both = createMcpHandler(make);
  paths.set('/stateless', (request) => stateless.fetch(request));
  paths.set('/both', (request) => both.fetch(request));
  paths.set('/sdk', async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id !== null)
      return sessions.get(id)?.handleRequest(request) ?? Response.json({ error: 'Session not found' }, { status: 404 });
    const transport = new Transport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (made: string) => sessions.set(made, transport),
    });
    await withTools(new SdkServer({ name: 'the first', version: '1.0.0' }), true).connect(transport);
    return transport.handleRequest(request);
  });

  const server = createServer(async (request, response) => {
    const path = request.url ?? '/';
    const body = await buffer(request);
    const headers = new Headers(request.headers as Record<string, string>);
    asked.push({ path, headers, body: body.length === 0 ? null : JSON.parse(body.toString()) });
    const answer = paths.get(path);
    if (answer === undefined) return void response.writeHead(404).end();
    const given = new Request(`http://localhost${path}`, {
      method: request.method!,
      headers,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    const made = await answer(given);
    response.writeHead(made.status, Object.fromEntries(made.headers));
    response.flushHeaders();
    if (made.body !== null) for await (const chunk of made.body) response.write(chunk);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    serve: (path, answer) => void (answer === null ? paths.delete(path) : paths.set(path, answer)),
    forgetSessions: () => sessions.clear(),
    async close() {
      await stateless.close();
      await both.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
