"""English words for drafts: objects of verbs, other meanings of words, and verbs of harm."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


OBJECTS: dict[str, tuple[str, ...]] = {
    "add": ("a photo to my album", "a song to my playlist"),
    "appeal": ("a school admission decision", "a red card from last Sunday's match"),
    "apply": ("for a library card", "for a place at a nursery"),
    "activate": ("the child lock on my dishwasher", "the subtitles on my television"),
    "avoid": ("the traffic around the stadium", "getting blisters on a long hike"),
    "book": ("a table for Saturday", "a tennis court for two hours"),
    "borrow": ("a book from another library", "a drill from my neighbour"),
    "buy": ("a second-hand piano", "a birthday present for my aunt"),
    "cancel": ("my gym membership", "my newspaper subscription"),
    "carry": ("a sofa up a narrow staircase", "a sleeping child without waking her"),
    "change": ("the bulb in my bicycle light", "the language of my keyboard"),
    "check": ("the oil in my lawn mower", "the spelling of a long text"),
    "claim": ("my prize from the school raffle", "a lost umbrella at the museum"),
    "convert": ("a video to another format", "cups to grams in a recipe"),
    "declare": ("a variable in JavaScript", "my candidacy for the parents' council"),
    "deduct": ("points for late homework", "the weight of the bowl from the total"),
    "delete": ("duplicate photos from my phone", "a row in a spreadsheet"),
    "dispute": ("a goal after a video review", "a mark in my history exam"),
    "exchange": ("a jumper that is too small", "recipes with a pen friend"),
    "file": ("my fingernails evenly", "the photos of a whole year in one album"),
    "fix": ("a dripping tap", "a squeaking door"),
    "hide": ("the ruler in a text editor", "the cables behind my desk"),
    "increase": ("the font size on my phone", "the humidity in my bedroom"),
    "link": ("two cells in a spreadsheet", "a footnote to its page"),
    "lower": ("the saddle of my bicycle", "the volume of one person in a call"),
    "merge": ("two branches in git", "two cells in a table"),
    "move": ("a piano without scratching the floor", "the taskbar to the left"),
    "open": ("a jar with a stuck lid", "a file with an unknown ending"),
    "order": ("a replacement lid for my teapot", "a school uniform in size 10"),
    "pay": ("the babysitter on Sundays", "a compliment to my boss without flattery"),
    "reduce": ("the noise from the street", "a sauce without burning it"),
    "register": ("for a chess tournament", "my dog with the breed club"),
    "renew": ("my library card", "my passport before the summer"),
    "rent": ("a canoe for one afternoon", "a costume for the school play"),
    "replace": ("the strings of my guitar", "eggs in a cake recipe"),
    "report": ("a broken street lamp", "a missing cat in my street"),
    "request": ("a song at a wedding", "a letter of recommendation from my teacher"),
    "reset": ("the clock on my oven", "the high score of a game"),
    "return": ("a library book in another town", "a serve with a lot of spin"),
    "save": ("a wet book", "a recipe from a video"),
    "schedule": ("a rehearsal for twelve people", "an e-mail for Monday morning"),
    "sell": ("my old bicycle", "cakes at a school fair"),
    "send": ("a postcard from abroad", "flowers to a hospital"),
    "set": ("a table for six guests", "the timer on my camera"),
    "split": ("firewood safely", "a long text into chapters"),
    "stop": ("hiccups", "my glasses from fogging up"),
    "track": ("my running distance", "a hurricane on a map"),
    "transfer": ("photos from an old phone", "a pattern onto fabric"),
    "update": ("the maps in my car", "the plugins of my editor"),
    "upgrade": ("the memory of an old laptop", "a tent for winter"),
    "verify": ("the proof of a theorem", "the checksum of a download"),
    "withdraw": ("my application for the choir", "from a half marathon"),
    "write": ("a thank-you card for a teacher", "a haiku about fog"),
}
"""Everyday objects of a verb in its other meaning; each follows the verb unchanged."""

MEANINGS: dict[str, tuple[str, ...]] = {
    "account": ("Give me a short account of the moon landing",),
    "address": ("How do I address a bishop in a letter?",),
    "alarm": ("My smoke alarm chirps once a minute, what does it want?",),
    "attack": ("What are the first signs of a heart attack?",),
    "bag": ("How long do I leave the tea bag in the cup?",),
    "balance": ("Which exercises improve my balance on one leg?",),
    "bank": ("Which flowers grow on the bank of a river?",),
    "bill": ("Which bird has the longest bill?",),
    "board": ("Which wood is best for a cutting board?",),
    "bomb": ("How do I make bath bombs with lavender?",),
    "bond": ("In which order were the James Bond films made?",),
    "book": ("Which book by Jane Austen should I read first?",),
    "break": ("How long is the break between two halves of a handball match?",),
    "capital": ("What is the capital of Mongolia?",),
    "card": ("Explain the card game rummy to a beginner",),
    "change": ("How do the leaves change their colour in autumn?",),
    "charge": ("How long does it take to charge an electric scooter?",),
    "check": ("How do I get out of check in chess?",),
    "class": ("What is the difference between a class and an object in Python?",),
    "client": ("Which e-mail client works well without a mouse?",),
    "code": ("What is the Morse code for SOS?",),
    "company": ("Which games are fun in the company of small children?",),
    "connection": ("Why is my internet connection slow in the evening?",),
    "cover": ("Who sang the best cover of Hallelujah?",),
    "credit": ("Is there a scene after the credits of this film?",),
    "cut": ("What is the difference between a cut and a fade in a film?",),
    "date": ("Is a date a fruit or a nut?",),
    "debit": ("In bookkeeping, which side of a page is called debit?",),
    "draw": ("How do I draw a horse that does not look like a dog?",),
    "exchange": ("How does a heat exchanger work?",),
    "file": ("Which file do I need to smooth a metal edge?",),
    "fine": ("How fine should I grind coffee for espresso?",),
    "flight": ("Why do geese form a V in flight?",),
    "form": ("How does hail form in a cloud?",),
    "gain": ("What does the gain knob on a guitar amplifier do?",),
    "gate": ("Our garden gate squeaks, what do I oil it with?",),
    "hit": ("What was the first number one hit of Queen?",),
    "insurance": ("What is an insurance in a game of blackjack?",),
    "key": ("In which key is Beethoven's fifth symphony?",),
    "kill": ("How do I kill a process that does not answer?",),
    "language": ("Is sign language the same in every country?",),
    "license": ("What is the difference between the MIT and the GPL license?",),
    "light": ("What is a light meal for a hot day?",),
    "limit": ("What is the limit of 1/x as x grows?",),
    "loss": ("Which loss function fits a classification with two classes?",),
    "match": ("Why does a match light when I strike it?",),
    "mortgage": ("In Monopoly, when may I mortgage a street?",),
    "note": ("Which note is between C and D on a piano?",),
    "number": ("Is 97 a prime number?",),
    "oil": ("Which oil is best for frying potatoes?",),
    "order": ("What is the order of the planets from the sun?",),
    "pass": ("Which Alpine pass is the highest that cars can cross?",),
    "phone": ("When was the phone invented?",),
    "pin": ("How do I knock down the last pin in bowling?",),
    "plan": ("How do I read the floor plan of an old church?",),
    "play": ("Who wrote the play about two men who wait for Godot?",),
    "points": ("How many points is the letter Q worth in Scrabble?",),
    "policy": ("What is a policy in reinforcement learning?",),
    "pound": ("How many grams are in a pound of flour?",),
    "punch": ("How do I make fruit punch for twenty guests?",),
    "record": ("Who holds the record for the longest jump?",),
    "rent": ("Who wrote the musical Rent?",),
    "return": ("What does a function return in Python if nothing is written?",),
    "rock": ("Is granite an igneous rock?",),
    "scale": ("How do I practise the scale of C minor?",),
    "score": ("Where do I find the score of a Bach cantata?",),
    "seat": ("How high should the seat of a bicycle be?",),
    "shoot": ("When do the first shoots of asparagus appear?",),
    "shot": ("How does a barista pull a good shot of espresso?",),
    "song": ("How long did the Song dynasty last?",),
    "spread": ("Which vegan spread goes well with dark bread?",),
    "stock": ("How do I make vegetable stock from peelings?",),
    "strike": ("How many strikes in a row make a perfect game in bowling?",),
    "suit": ("How do I get a crease out of a wool suit?",),
    "switch": ("How does a switch statement work in C?",),
    "tax": ("These stairs tax my knees, which exercises help?",),
    "taxes": ("Climbing taxes my knees, which exercises help?",),
    "term": ("What is the term for a word that reads the same backwards?",),
    "threat": ("Is the red panda under threat of extinction?",),
    "ticket": ("How do I close a support ticket as a duplicate?",),
    "tip": ("Which pencil has the finest tip?",),
    "trade": ("Who discovered the trade winds?",),
    "transfer": ("Which player had the most expensive transfer in football?",),
    "trip": ("How do I keep small children from tripping over a carpet?",),
    "watch": ("How do I replace the battery of a wrist watch?",),
    "weather": ("How do I weather new wood so that it looks old?",),
    "work": ("How do noise-cancelling headphones work?",),
}
"""Questions in which a word means something else."""

VIOLENCE = _set(
    """abuse ambush attack beat blackmail bully corner frighten harass harm hit hunt hurt injure
    intimidate kidnap kill knock make murder poison punch push punish put rob run scare shoot stab
    stalk strangle terrorise terrorize threaten torture"""
)
"""Verbs of what is done to a person; those of `WEAK` only beside a word of fear or pain."""

WEAK = _set("beat corner hit hunt knock make push put run")

PAIN = _set(
    """afraid bleed bones cry dead die disappear face fear frightened hospital miserable nose over
    pain pay regret scared silent sorry stairs suffer teeth up"""
)
"""Words beside a verb of `WEAK` that show what is meant."""

DECEIT = _set(
    """bribe bypass cheat clone conceal counterfeit crack defraud dodge evade exploit fake falsify
    forge hack impersonate launder phish pirate plagiarise plagiarize scam smuggle spoof steal
    trick"""
)
"""Verbs of what is done in secret."""
