import { Counter } from './counter';

export default function Home() {
  return (
    <main>
      <h1>Hello, stranger</h1>
      <p>version one</p>
      <Counter />
    </main>
  );
}
