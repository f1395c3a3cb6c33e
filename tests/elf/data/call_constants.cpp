struct Key { unsigned short number; bool is_there; };
void take(void*, int, const char*, Key, const char*, unsigned);
void other(void*, const char*);
static char room[64];
static inline Key none() { Key key; key.is_there = false; return key; }
void constant() { take(room, 1, "ns", Key{0x31, true}, "file", 1); }
void behind_a_call() { Key key{0x91, true}; other(room, "ns"); take(room, 1, "ns", key, "file", 2); }
void nothing() { other(room, "a"); take(room, 0, "ns", none(), "file", 3); }
void twice() { take(room, 1, "ns", Key{0x20, true}, "f", 4); take(room + 1, 1, "ns", Key{0x4a, true}, "f", 5); }
void given(Key key) { take(room, 1, "ns", key, "file", 6); }
void read(Key* key) { take(room, 1, "ns", *key, "file", 7); }
void chosen(int a) { Key key{1, true}; if (a == 3) { other(0, ""); key.number = 2; } take(room, 1, "", key, "", 8); }
void loop() { for (unsigned short n = 0; n < 9; n++) take(room, 1, "ns", Key{n, true}, "file", 9); }
