// A custom tool: its parameters and its function. A completed call is not repeated, whatever happens to the run.
import { defineTool } from '@platform-run/agent';

export const rollDice = defineTool({
  name: 'roll_dice',
  description: 'Rolls dice',
  parameters: {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 1, maximum: 20, description: 'How many; 1 by default' },
      sides: { type: 'integer', minimum: 2, maximum: 100, description: 'Of each; 6 by default' },
    },
  },
  execute({ count = 1, sides = 6 }) {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    return rolls.join(', ');
  },
});
