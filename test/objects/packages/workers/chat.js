// agents: a chat with a model, whose lines are the agent's state, and a reminder that it schedules.
import { Agent, routeAgentRequest } from 'agents';

export class Chat extends Agent {
  initialState = { lines: [] };

  async onMessage(_connection, content) {
    this.#add('user', content);
    const answer = await this.env.AI.run('mock/echo', { messages: this.state.lines });
    this.#add('assistant', answer.choices[0].message.content);
    await this.schedule(1, 'remind', content);
  }

  remind(content) {
    this.#add('reminder', content);
  }

  #add(role, content) {
    this.setState({ lines: [...this.state.lines, { role, content }] });
  }
}

export default {
  async fetch(request, env) {
    return (await routeAgentRequest(request, env)) ?? new Response('no agent', { status: 404 });
  },
};
