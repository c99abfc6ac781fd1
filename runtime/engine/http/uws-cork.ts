// A response that is never sent, used to write on uWebSockets.js while another socket is corked. The library requires
// every write to be inside a cork, but after the cork, it checks a socket as if it were still HTTP. If the socket
// became a WebSocket in the meantime, at the same memory address, this sometimes closes it. Opened by listener-uws.ts.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { UwsModule } from './uws-module.ts';
import type { UwsResponse } from './uws-module.ts';

/** Runs callbacks inside the cork of this separate response. */
export interface CorkHolder {
  cork(callback: () => void): void;
  close(): void;
}

/** Opens a connection from this process to itself. */
export async function openCorkHolder(uws: UwsModule): Promise<CorkHolder> {
  const app = uws.App();
  const { promise, resolve } = Promise.withResolvers<UwsResponse>();
  let isOpen = true;
  app.any('/*', (response) => {
    response.onAborted(() => {
      isOpen = false;
    });
    resolve(response);
  });
  let listening: object | null = null;
  app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    listening = socket === false ? null : socket;
  });
  if (listening === null) throw new Error('uWebSockets.js cannot listen on 127.0.0.1');
  const client: Socket = connect(uws.us_socket_local_port(listening), '127.0.0.1');
  await once(client, 'connect');
  client.unref();
  client.on('error', () => {});
  client.write('GET / HTTP/1.1\r\nHost: cork\r\n\r\n');
  const response = await promise;
  uws.us_listen_socket_close(listening);
  return {
    cork(callback) {
      if (!isOpen) throw new Error('The connection that is corked has been closed');
      response.cork(callback);
    },
    close() {
      isOpen = false;
      // The library notices the end itself. A close through the library would call back in the middle of other code.
      client.destroy();
    },
  };
}
