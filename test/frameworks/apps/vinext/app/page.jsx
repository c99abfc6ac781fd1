import { Counter } from './counter';

export default async function Home({ searchParams }) {
  const { name = 'stranger' } = await searchParams;
  return (
    <main>
      <h1>Hello, {name}</h1>
      <p>version one</p>
      <Counter />
    </main>
  );
}
