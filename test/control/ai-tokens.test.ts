// Tokens of the AI gateway for deployments, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/ai-tokens.test.ts';
