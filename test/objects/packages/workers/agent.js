// agents: state that clients follow, a schedule, calls from the worker and from clients.
import { Agent, callable, getAgentByName, routeAgentRequest } from 'agents';

export class Assistant extends Agent {
  initialState = { count: 0, rang: null };

  async add(by) {
    this.setState({ ...this.state, count: this.state.count + by });
    return this.state.count;
  }

  async remind(text) {
    const { id } = await this.schedule(1, 'ring', { text });
    return typeof id;
  }

  async ring({ text }) {
    void this.sql`CREATE TABLE IF NOT EXISTS rung (text TEXT)`;
    void this.sql`INSERT INTO rung (text) VALUES (${text})`;
    this.setState({ ...this.state, rang: this.sql`SELECT text FROM rung`.map((row) => row.text).join() });
  }

  onMessage(connection, message) {
    connection.send(`heard ${message}`);
  }
}
callable()(Assistant.prototype.add, { name: 'add', kind: 'method' });

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/add') {
      const assistant = await getAgentByName(env.ASSISTANT, 'one');
      return Response.json(await assistant.add(Number(searchParams.get('by'))));
    }
    if (pathname === '/remind') return Response.json(await (await getAgentByName(env.ASSISTANT, 'one')).remind('tea'));
    return (await routeAgentRequest(request, env)) ?? new Response('no agent', { status: 404 });
  },
};
