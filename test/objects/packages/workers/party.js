// partyserver: a chat whose sockets hibernate, and one that keeps them in memory.
import { getServerByName, routePartykitRequest, Server } from 'partyserver';

export class Chat extends Server {
  static options = { hibernate: true };

  onStart() {
    void this.sql`CREATE TABLE IF NOT EXISTS line (id INTEGER PRIMARY KEY, text TEXT)`;
  }

  onConnect(connection, { request }) {
    const name = new URL(request.url).searchParams.get('name');
    connection.setState({ name });
    this.broadcast(`${name} joined`, [connection.id]);
  }

  onMessage(connection, message) {
    void this.sql`INSERT INTO line (text) VALUES (${message})`;
    this.broadcast(`${connection.state.name}: ${message}`);
  }

  onClose(connection) {
    this.broadcast(`${connection.state.name} left`, [connection.id]);
  }

  onRequest() {
    return Response.json({ room: this.name, people: [...this.getConnections()].length });
  }

  lines() {
    return this.sql`SELECT text FROM line ORDER BY id`.map(({ text }) => text);
  }
}

export class Memory extends Chat {
  static options = { hibernate: false };
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/lines/')) {
      const chat = await getServerByName(env[pathname.slice(7)], 'lobby');
      return Response.json(await chat.lines());
    }
    return (await routePartykitRequest(request, env)) ?? new Response('no party', { status: 404 });
  },
};
